//! The requests about one subject, and what came of them.

use anyhow::{Error, Result};
use futures::StreamExt;
use futures::stream::FuturesOrdered;
use kube::Error::Api;

use crate::action::Action;
use crate::condition::said;
use crate::kind::Side;
use crate::send::{AT_ONCE, Clients, Outcome};

/// Why something could not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The API server cannot do it now, or something has changed meanwhile: the same may succeed soon.
    Server,
    /// An API server refuses it: the same is refused again until somebody mends something.
    Refused(Side),
}

impl Failure {
    /// Of the requests that an error is about.
    pub(super) fn of(error: &Error, unanswered: &[Action]) -> Self {
        match unanswered {
            [action, ..] if refusal_of(error).is_some() => Self::Refused(action.key().kind.side()),
            _ => Self::Server,
        }
    }
}

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
        let answers = send_all(&clients, together).await;
        for (action, answer) in together.iter().zip(answers) {
            match answer {
                Ok(outcome) => {
                    is_late |= matches!(outcome, Outcome::Changed(..));
                    outcomes.push(Some(outcome));
                }
                Err(error) => {
                    outcomes.push(None);
                    let refused = refusal_of(&error);
                    // What may succeed soon is not to wait for what may not.
                    if result.is_ok() || refused.is_none() {
                        result = Err(error);
                    }
                    let by_leader = refused.filter(|_| action.key().kind.side() == Side::Leader);
                    refusal = refusal.or(by_leader);
                }
            }
        }
        if result.is_err() || is_late {
            break;
        }
    }
    Done { subject, connection, actions, rounds, outcomes, result, refusal }
}

/// What is answered to requests that do not wait for one another, in their order. Those that could not be sent yet take
/// no room.
async fn send_all(clients: &Clients, actions: &[Action]) -> Vec<Result<Outcome>> {
    let mut rest = actions.iter();
    let first = rest.by_ref().take(AT_ONCE);
    let mut under_way: FuturesOrdered<_> = first.map(|action| clients.send(action)).collect();
    let mut answers = Vec::with_capacity(actions.len());
    while let Some(answer) = under_way.next().await {
        answers.push(answer);
        under_way.extend(rest.next().map(|action| clients.send(action)));
    }
    answers
}

/// Requests that are sent at the same time.
fn together(actions: &[Action]) -> impl Iterator<Item = &[Action]> {
    let creates = |action: &Action| matches!(action, Action::Create(..));
    actions.chunk_by(move |one, next| creates(one) && creates(next))
}

/// What an API server says that refuses what it was asked, rather than being unable to answer now.
fn refusal_of(error: &Error) -> Option<String> {
    match error.downcast_ref()? {
        Api(status) if [400, 403, 413, 422].contains(&status.code) => Some(said(&status.message)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use hyper::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use kube::core::Status;
    use serde_json::{Value, json};
    use tokio::task::yield_now;

    use super::*;
    use crate::kind::Kind;
    use crate::objects::Key;

    #[test]
    fn what_is_refused_is_told_from_what_cannot_be_done_now() {
        let key = Key::new(Kind::ResourceExport, "area", "west-shop-web-endpoints");
        let asked = [Action::Create(key, Value::Null)];
        for (code, expected) in [
            (400, Failure::Refused(Side::Leader)),
            (403, Failure::Refused(Side::Leader)),
            (413, Failure::Refused(Side::Leader)),
            (422, Failure::Refused(Side::Leader)),
            (401, Failure::Server),
            (404, Failure::Server),
            (409, Failure::Server),
            (412, Failure::Server),
            (503, Failure::Server),
        ] {
            let status = Status::failure("no", "Reason").with_code(code).boxed();
            let error = Error::from(Api(status)).context("cannot create it");
            assert_eq!(Failure::of(&error, &asked), expected, "{code}");
        }
        let local = [Action::Create(Key::new(Kind::Service, "shop", "web"), Value::Null)];
        let status = Status::failure("the quota is used up", "Forbidden").with_code(403).boxed();
        assert_eq!(Failure::of(&Api(status).into(), &local), Failure::Refused(Side::Local));
    }

    #[test]
    fn objects_are_created_at_the_same_time_and_whatever_else_is_done_one_by_one() {
        let key = Key::new(Kind::Service, "shop", "web");
        let create = Action::Create(key.clone(), Value::Null);
        let delete = Action::Delete(key, String::new());
        let all = [&create, &create, &delete, &delete, &create].map(Clone::clone);
        let sizes: Vec<usize> = together(&all).map(<[Action]>::len).collect();
        assert_eq!(sizes, [2, 1, 1, 1]);
    }

    /// An API server that answers with what it is sent, and how many requests it had at a time.
    fn api_server() -> (Client, Arc<AtomicUsize>) {
        let (under_way, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counted = most.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (under_way, most) = (under_way.clone(), most.clone());
            async move {
                most.fetch_max(under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let body = request.into_body().collect_bytes().await.unwrap();
                yield_now().await;
                under_way.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, Infallible>(Response::new(Body::from(body.to_vec())))
            }
        });
        (Client::new(service, "default"), counted)
    }

    fn creates(subject: usize) -> Vec<Action> {
        let create = |number| {
            let key = Key::new(Kind::Service, "shop", &format!("web-{subject}-{number}"));
            let object = json!({ "metadata": { "name": key.name, "namespace": key.namespace } });
            Action::Create(key, object)
        };
        (0..200).map(create).collect()
    }

    #[tokio::test]
    async fn no_more_than_16_requests_are_under_way() {
        let (client, most) = api_server();
        let clients = Clients::new(client);
        let subjects =
            (0..16).map(|subject| carry_out(clients.clone(), 0, subject, creates(subject), vec![0; 200]));
        for done in join_all(subjects).await {
            let asked: Vec<&Key> = done.actions.iter().map(Action::key).collect();
            let answered = done.outcomes.iter().flatten().map(|outcome| match outcome {
                Outcome::Is(kind, object) | Outcome::Changed(kind, object) => Key::of(*kind, object),
                Outcome::Gone(key) => key.clone(),
            });
            assert_eq!(answered.collect::<Vec<_>>().iter().collect::<Vec<_>>(), asked);
        }
        assert_eq!(most.load(Ordering::SeqCst), 16);
    }
}
