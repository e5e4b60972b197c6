//! What users are told of Gateways and ClusterInfoImports that something is wrong with.

use antrea_agent_multicluster::{Problem, Subject};
use antrea_shared_api::multicluster::v1alpha1::{ClusterInfoImport, Gateway};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use tracing::{info, warn};

use crate::events::{Notice, NoticeQueue, Teller};

/// What users have been told of, and the way to tell them.
pub(crate) struct Notices {
    namespace: String,
    told: Vec<(Subject, Problem)>,
    queue: NoticeQueue,
}

impl Notices {
    /// Nobody has been told of anything in the Namespace.
    pub(super) const fn new(namespace: String, queue: NoticeQueue) -> Self {
        Self { namespace, told: Vec::new(), queue }
    }

    /// These are the problems now; the new ones are told of, and those that are gone. `uid` knows the UID of an object.
    pub(super) fn set(
        &mut self,
        problems: Vec<(Subject, Problem)>,
        uid: impl Fn(&Subject) -> Option<String>,
    ) {
        for told in problems.iter().filter(|problem| !self.told.contains(problem)) {
            let (subject, problem) = told;
            warn!(%subject, %problem, "Another cluster cannot be reached as it should");
            self.queue.push(Notice {
                regarding: self.reference(subject, uid(subject)),
                reason: problem.reason(),
                note: problem.to_string(),
                action: "ConnectClusters",
                teller: Teller::FirstNode,
            });
        }
        for (subject, problem) in self.told.iter().filter(|problem| !problems.contains(problem)) {
            info!(%subject, %problem, "A problem with another cluster is gone");
        }
        self.told = problems;
    }

    fn reference(&self, subject: &Subject, uid: Option<String>) -> ObjectReference {
        let (api_version, kind, name) = match subject {
            Subject::Gateway(name) => (Gateway::api_version(&()), Gateway::kind(&()), name),
            Subject::ClusterInfoImport(name) => {
                (ClusterInfoImport::api_version(&()), ClusterInfoImport::kind(&()), name)
            }
        };
        ObjectReference {
            api_version: Some(api_version.into_owned()),
            kind: Some(kind.into_owned()),
            namespace: Some(self.namespace.clone()),
            name: Some(name.clone()),
            uid,
            ..ObjectReference::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_told_of_each_problem_once_on_its_object() {
        let (queue, mut told) = NoticeQueue::new();
        let mut notices = Notices::new("mc".to_owned(), queue);
        let problem = |name: &&str| (Subject::Gateway((*name).to_owned()), Problem::NoIpv4Gateway);
        let mut set = |names: &[&str]| {
            notices.set(names.iter().map(problem).collect(), |_| Some("u-1".to_owned()));
            let told = std::iter::from_fn(|| told.try_recv().ok());
            let line = |notice: Notice| {
                let about = notice.regarding;
                let words = [about.api_version, about.kind, about.namespace, about.name, about.uid];
                format!("{} {}", words.map(Option::unwrap).join(" "), notice.reason)
            };
            told.map(line).collect::<Vec<_>>()
        };
        assert_eq!(set(&["n1"]), ["multicluster.crd.antrea.io/v1alpha1 Gateway mc n1 u-1 NoIPv4Gateway"]);
        assert_eq!(
            set(&["n1", "n2"]),
            ["multicluster.crd.antrea.io/v1alpha1 Gateway mc n2 u-1 NoIPv4Gateway"]
        );
        assert_eq!(set(&["n1"]).len(), 0);
        assert_eq!(set(&["n1", "n2"]).len(), 1);
    }
}
