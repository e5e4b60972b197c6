//! What users are told of Services that are not served as asked for.

use std::collections::BTreeMap;

use antrea_agent_proxy::{Problem, ServiceName};
use k8s_openapi::api::core::v1::ObjectReference;
use tracing::warn;

use crate::events::{Notice, NoticeQueue, Teller};

/// What users have been told of, and the way to tell them.
pub(crate) struct Notices {
    told: BTreeMap<ServiceName, Vec<Problem>>,
    queue: NoticeQueue,
}

impl Notices {
    /// Nobody has been told of anything.
    pub(crate) fn new(queue: NoticeQueue) -> Self {
        Self { told: BTreeMap::new(), queue }
    }

    /// These are the problems of a Service now; the new ones are told of.
    pub(crate) fn set(&mut self, service: ServiceName, uid: &str, problems: Vec<Problem>) {
        let told = self.told.remove(&service).unwrap_or_default();
        for problem in problems.iter().filter(|problem| !told.contains(problem)) {
            warn!(%service, %problem, "A Service is not served as asked for");
            self.queue.push(notice(&service, uid, problem));
        }
        if !problems.is_empty() {
            self.told.insert(service, problems);
        }
    }
}

fn notice(service: &ServiceName, uid: &str, problem: &Problem) -> Notice {
    Notice {
        regarding: ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Service".to_owned()),
            namespace: Some(service.namespace().to_owned()),
            name: Some(service.name().to_owned()),
            uid: Some(uid.to_owned()),
            ..ObjectReference::default()
        },
        reason: problem.reason(),
        note: problem.to_string(),
        action: "ServeService",
        teller: Teller::EachNode,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_told_of_each_problem_of_a_service_once() {
        let (queue, mut told) = NoticeQueue::new();
        let mut notices = Notices::new(queue);
        let mut set = |addresses: &[&str]| {
            let refused = |address: &&str| Problem::RefusedEndpoint(address.parse().unwrap());
            let problems = addresses.iter().map(refused).collect();
            notices.set(ServiceName::new("shop", "web"), "u-1", problems);
            std::iter::from_fn(|| told.try_recv().ok()).map(|notice| notice.reason).collect::<Vec<_>>()
        };
        assert_eq!(set(&["127.0.0.1"]), ["EndpointAddressRefused"]);
        assert_eq!(set(&["127.0.0.1", "169.254.1.1"]), ["EndpointAddressRefused"]);
        assert_eq!(set(&["127.0.0.1", "169.254.1.1"]).len(), 0);
        assert_eq!((set(&[]).len(), set(&["127.0.0.1"]).len()), (0, 1));
    }
}
