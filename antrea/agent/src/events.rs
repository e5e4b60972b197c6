//! Events about objects that are not served as asked for: warnings, each written once.

use antrea_kit::kube_client::{bounded, status_code};
use antrea_types::NodeName;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use sha1::{Digest as _, Sha1};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// Events that wait for the API server; more are only logged.
const QUEUE: usize = 256;

/// The HTTP status for an object that exists: somebody has told users before.
const ALREADY_THERE: u16 = 409;

/// What is wrong with an object.
pub(crate) struct Notice {
    /// The object, with its Namespace, name and UID.
    pub(crate) regarding: ObjectReference,
    /// A word for it.
    pub(crate) reason: &'static str,
    /// A sentence for it.
    pub(crate) note: String,
    /// What is not done because of it.
    pub(crate) action: &'static str,
    /// Whose Event it is.
    pub(crate) teller: Teller,
}

/// Who tells of a problem that several Nodes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Teller {
    /// Each of them, for itself.
    EachNode,
    /// The first one, for all: it is the same problem.
    FirstNode,
}

/// The way of notices to the one who writes Events.
#[derive(Clone)]
pub(crate) struct NoticeQueue(mpsc::Sender<Notice>);

impl NoticeQueue {
    /// The second value is for [`report_notices`].
    pub(crate) fn new() -> (Self, mpsc::Receiver<Notice>) {
        let (queue, notices) = mpsc::channel(QUEUE);
        (Self(queue), notices)
    }

    /// Has an Event written, unless there are too many at once.
    pub(crate) fn push(&self, notice: Notice) {
        let reason = notice.reason;
        if self.0.try_send(notice).is_err() {
            debug!(reason, "Too many Events at once; this one is in the log only");
        }
    }
}

/// Writes Events until `stop`.
pub(crate) async fn report_notices(
    client: Client,
    node: NodeName,
    mut notices: mpsc::Receiver<Notice>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    while let Some(Some(notice)) = stop.run_until_cancelled(notices.recv()).await {
        let event = event(notice, &node, Timestamp::now());
        let api: Api<Event> =
            Api::namespaced(client.clone(), event.metadata.namespace.as_deref().unwrap_or_default());
        let parameters = PostParams::default();
        let created = stop.run_until_cancelled(bounded(api.create(&parameters, &event))).await;
        if let Some(Err(error)) = created
            && status_code(&error) != Some(ALREADY_THERE)
        {
            let name = event.metadata.name.as_deref();
            debug!(name, error = format!("{error:#}"), "An Event was not written");
        }
    }
    stop.cancelled().await;
    Ok(())
}

/// The Event about a problem, with a name that is the same each time.
fn event(notice: Notice, node: &NodeName, now: Timestamp) -> Event {
    let Notice { regarding, reason, note, action, teller } = notice;
    let teller = match teller {
        Teller::EachNode => node.as_str(),
        Teller::FirstNode => "",
    };
    let digest = Sha1::digest(format!("{teller} {} {note}", regarding.uid.as_deref().unwrap_or_default()));
    let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Event {
        metadata: ObjectMeta {
            namespace: regarding.namespace.clone(),
            name: Some(format!("{}.{digest}", regarding.name.as_deref().unwrap_or_default())),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(now)),
        type_: Some("Warning".to_owned()),
        reason: Some(reason.to_owned()),
        note: Some(note),
        action: Some(action.to_owned()),
        reporting_controller: Some("antrea-agent".to_owned()),
        reporting_instance: Some(node.to_string()),
        regarding: Some(regarding),
        ..Event::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(node: &str, note: &str, teller: Teller) -> String {
        let regarding = ObjectReference {
            namespace: Some("shop".to_owned()),
            name: Some("web".to_owned()),
            uid: Some("u-1".to_owned()),
            ..ObjectReference::default()
        };
        let notice = Notice { regarding, reason: "No", note: note.to_owned(), action: "Serve", teller };
        event(notice, &node.parse().unwrap(), Timestamp::UNIX_EPOCH).metadata.name.unwrap()
    }

    #[test]
    fn each_problem_has_an_event_of_its_own_which_is_the_same_each_time() {
        let first = name("n1", "a", Teller::EachNode);
        assert!(first.starts_with("web."), "{first}");
        assert_ne!(first, name("n1", "b", Teller::EachNode));
        assert_eq!(first, name("n1", "a", Teller::EachNode));
    }

    #[test]
    fn a_problem_of_the_cluster_has_one_event_whichever_nodes_see_it() {
        assert_ne!(name("n1", "a", Teller::EachNode), name("n2", "a", Teller::EachNode));
        assert_eq!(name("n1", "a", Teller::FirstNode), name("n2", "a", Teller::FirstNode));
    }
}
