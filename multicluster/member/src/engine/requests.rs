//! The requests about one subject, and what came of them.

use anyhow::Result;

use crate::action::Action;
use crate::send::{Clients, Outcome};

/// What came of the requests about a subject.
pub(super) struct Done<S> {
    pub(super) subject: S,
    /// The connection to the leader that they were sent over.
    pub(super) connection: u64,
    pub(super) actions: Vec<Action>,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) result: Result<()>,
}

/// Sends requests one after the other, up to the first that fails.
pub(super) async fn carry_out<S>(
    clients: Clients,
    connection: u64,
    subject: S,
    actions: Vec<Action>,
) -> Done<S> {
    let (mut outcomes, mut result) = (Vec::new(), Ok(()));
    for action in &actions {
        match clients.send(action).await {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    Done { subject, connection, actions, outcomes, result }
}
