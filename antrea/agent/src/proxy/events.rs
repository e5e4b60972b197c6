//! Events about Services that are not served as asked for: each once, as a warning on the Service.

use std::collections::BTreeMap;

use antrea_agent_proxy::{Problem, ServiceName};
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
use tracing::{debug, warn};

/// Events that wait for the API server; more are only logged.
const QUEUE: usize = 256;

/// What is wrong with a Service.
pub(crate) struct Notice {
    service: ServiceName,
    uid: Box<str>,
    problem: Problem,
}

/// What users have been told of, and the way to tell them.
pub(crate) struct Notices {
    told: BTreeMap<ServiceName, Vec<Problem>>,
    queue: mpsc::Sender<Notice>,
}

impl Notices {
    /// The second value is for [`report_notices`].
    pub(crate) fn new() -> (Self, mpsc::Receiver<Notice>) {
        let (queue, notices) = mpsc::channel(QUEUE);
        (Self { told: BTreeMap::new(), queue }, notices)
    }

    /// These are the problems of a Service now; the new ones are told of.
    pub(crate) fn set(&mut self, service: ServiceName, uid: &str, problems: Vec<Problem>) {
        let told = self.told.remove(&service).unwrap_or_default();
        for problem in problems.iter().filter(|problem| !told.contains(problem)) {
            warn!(%service, %problem, "A Service is not served as asked for");
            let notice = Notice { service: service.clone(), uid: uid.into(), problem: problem.clone() };
            if self.queue.try_send(notice).is_err() {
                debug!(%service, "Too many Events at once; this one is in the log only");
            }
        }
        if !problems.is_empty() {
            self.told.insert(service, problems);
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
        let api: Api<Event> = Api::namespaced(client.clone(), notice.service.namespace());
        let event = event(&notice, &node, Timestamp::now());
        let parameters = PostParams::default();
        let created = stop.run_until_cancelled(bounded(api.create(&parameters, &event))).await;
        if let Some(Err(error)) = created
            && status_code(&error) != Some(ALREADY_THERE)
        {
            debug!(service = %notice.service, error = format!("{error:#}"), "An Event was not written");
        }
    }
    stop.cancelled().await;
    Ok(())
}

/// The HTTP status for an object that exists: the agent told users before it was restarted.
const ALREADY_THERE: u16 = 409;

/// The Event about a problem, with a name that is the same each time.
fn event(notice: &Notice, node: &NodeName, now: Timestamp) -> Event {
    let Notice { service, uid, problem } = notice;
    let note = problem.to_string();
    let digest = Sha1::digest(format!("{node} {uid} {note}"));
    let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Event {
        metadata: ObjectMeta {
            namespace: Some(service.namespace().to_owned()),
            name: Some(format!("{}.{digest}", service.name())),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(now)),
        type_: Some("Warning".to_owned()),
        reason: Some(problem.reason().to_owned()),
        note: Some(note),
        action: Some("ServeService".to_owned()),
        reporting_controller: Some("antrea-agent".to_owned()),
        reporting_instance: Some(node.to_string()),
        regarding: Some(ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Service".to_owned()),
            namespace: Some(service.namespace().to_owned()),
            name: Some(service.name().to_owned()),
            uid: Some(uid.to_string()),
            ..ObjectReference::default()
        }),
        ..Event::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_has_an_event_of_its_own_which_is_the_same_each_time() {
        let of = |address: &str| {
            let problem = Problem::RefusedEndpoint(address.parse().unwrap());
            let notice = Notice { service: ServiceName::new("shop", "web"), uid: "u-1".into(), problem };
            event(&notice, &"n1".parse().unwrap(), Timestamp::UNIX_EPOCH)
        };
        let names =
            ["127.0.0.1", "169.254.1.1", "127.0.0.1"].map(|address| of(address).metadata.name.unwrap());
        assert!(names[0].starts_with("web.") && names[0] != names[1] && names[0] == names[2], "{names:?}");
        assert_eq!(of("127.0.0.1").reason.as_deref(), Some("EndpointAddressRefused"));
    }
}
