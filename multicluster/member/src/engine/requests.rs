//! The requests about one subject, and what came of them.

use anyhow::{Error, Result};
use futures::future::join_all;
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
    /// For each of them the round of its kind in which it was planned.
    pub(super) rounds: Vec<u64>,
    /// Of each of them that was sent; nothing where it failed.
    pub(super) outcomes: Vec<Option<Outcome>>,
    pub(super) result: Result<()>,
    /// Why the leader refuses one of them, if it does.
    pub(super) refusal: Option<String>,
}

/// Sends requests up to the first that fails, or comes too late: objects that follow one another are created at the same
/// time, as none of them needs another, whatever else one after the other.
pub(super) async fn carry_out<S>(
    clients: Clients,
    connection: u64,
    subject: S,
    actions: Vec<Action>,
    rounds: Vec<u64>,
) -> Done<S> {
    let (mut outcomes, mut result, mut refusal, mut is_late) = (Vec::new(), Ok(()), None, false);
    for together in together(&actions) {
        let answers = join_all(together.iter().map(|action| clients.send(action))).await;
        for (action, answer) in together.iter().zip(answers) {
            match answer {
                Ok(outcome) => {
                    is_late |= matches!(outcome, Outcome::Changed(..));
                    outcomes.push(Some(outcome));
                }
                Err(error) => {
                    outcomes.push(None);
                    refusal = refusal_of(&error).filter(|_| action.key().kind.side() == Side::Leader);
                    result = Err(error);
                }
            }
        }
        if result.is_err() || is_late {
            break;
        }
    }
    Done { subject, connection, actions, rounds, outcomes, result, refusal }
}

/// Requests that are sent at the same time.
fn together(actions: &[Action]) -> impl Iterator<Item = &[Action]> {
    let creates = |action: &Action| matches!(action, Action::Create(..));
    actions.chunk_by(move |one, next| creates(one) && creates(next))
}

/// What an API server says that refuses what it was asked, rather than being unable to answer now.
fn refusal_of(error: &Error) -> Option<String> {
    match error.downcast_ref()? {
        Api(status) if [400, 403, 413, 422].contains(&status.code) => Some(status.message.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::kind::Kind;
    use crate::objects::Key;

    #[test]
    fn objects_are_created_at_the_same_time_and_whatever_else_is_done_one_by_one() {
        let key = Key::new(Kind::Service, "shop", "web");
        let create = Action::Create(key.clone(), Value::Null);
        let delete = Action::Delete(key, String::new());
        let all = [&create, &create, &delete, &delete, &create].map(Clone::clone);
        let sizes: Vec<usize> = together(&all).map(<[Action]>::len).collect();
        assert_eq!(sizes, [2, 1, 1, 1]);
    }
}
