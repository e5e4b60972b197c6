//! The requests about one subject, and what came of them.

use anyhow::{Error, Result};
use kube::Error::Api;

use crate::action::Action;
use crate::kind::Side;
use crate::send::{Clients, Outcome};

/// What came of the requests about a subject.
pub(super) struct Done<S> {
    pub(super) subject: S,
    /// The connection to the leader that they were sent over.
    pub(super) connection: u64,
    pub(super) actions: Vec<Action>,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) result: Result<()>,
    /// Why the leader refuses one of them, if it does.
    pub(super) refusal: Option<String>,
}

/// Sends requests one after the other, up to the first that fails.
pub(super) async fn carry_out<S>(
    clients: Clients,
    connection: u64,
    subject: S,
    actions: Vec<Action>,
) -> Done<S> {
    let (mut outcomes, mut result, mut refusal) = (Vec::new(), Ok(()), None);
    for action in &actions {
        match clients.send(action).await {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => {
                refusal = refusal_of(&error).filter(|_| action.key().kind.side() == Side::Leader);
                result = Err(error);
                break;
            }
        }
    }
    Done { subject, connection, actions, outcomes, result, refusal }
}

/// What an API server says that refuses what it was asked, rather than being unable to answer now.
fn refusal_of(error: &Error) -> Option<String> {
    match error.downcast_ref()? {
        Api(status) if [400, 403, 413, 422].contains(&status.code) => Some(status.message.clone()),
        _ => None,
    }
}
