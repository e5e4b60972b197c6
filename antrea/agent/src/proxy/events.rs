//! Events about Services that are not served as asked for: each once, as a warning on the Service.

use std::collections::BTreeMap;

use antrea_agent_proxy::{Problem, ServiceName};
use antrea_kit::kube_client::bounded;
use antrea_types::NodeName;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
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
    let reporter = Reporter { controller: "antrea-agent".to_owned(), instance: Some(node.to_string()) };
    let recorder = Recorder::new(client, reporter);
    while let Some(Some(notice)) = stop.run_until_cancelled(notices.recv()).await {
        let event = event(&notice.problem);
        let object = object(&notice);
        let published = stop.run_until_cancelled(bounded(recorder.publish(&event, &object))).await;
        if let Some(Err(error)) = published {
            debug!(service = %notice.service, %error, "An Event was not written");
        }
    }
    stop.cancelled().await;
    Ok(())
}

fn event(problem: &Problem) -> Event {
    Event {
        type_: EventType::Warning,
        reason: problem.reason().to_owned(),
        note: Some(problem.to_string()),
        action: "ServeService".to_owned(),
        secondary: None,
    }
}

fn object(notice: &Notice) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Service".to_owned()),
        namespace: Some(notice.service.namespace().to_owned()),
        name: Some(notice.service.name().to_owned()),
        uid: Some(notice.uid.to_string()),
        ..ObjectReference::default()
    }
}
