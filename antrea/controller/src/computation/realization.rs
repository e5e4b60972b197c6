//! Where policies are not realized. Policies of Kubernetes have no status that could say so: the log does.

use std::collections::{BTreeMap, BTreeSet};

use antrea_policy::Uid;
use antrea_shared_api::controlplane::v1beta2::NetworkPolicyNodeStatus;
use tracing::{info, warn};

/// The Nodes that could not realize a policy.
#[derive(Debug, Default)]
pub(super) struct Realization(BTreeMap<Uid, BTreeSet<String>>);

/// What is worth a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    Failed,
    Realized,
}

impl Realization {
    /// Takes in what a Node says of a policy that there is.
    pub(super) fn learn(&mut self, policy: &Uid, status: &NetworkPolicyNodeStatus) {
        let NetworkPolicyNodeStatus { node_name: node, generation, message, .. } = status;
        match self.news(policy, status) {
            Some(News::Failed) => {
                warn!(%policy, generation, node, message, "A policy is not realized on a Node");
            }
            Some(News::Realized) => info!(%policy, generation, node, "A policy is realized on a Node again"),
            None => {}
        }
    }

    fn news(&mut self, policy: &Uid, status: &NetworkPolicyNodeStatus) -> Option<News> {
        if status.realization_failure {
            let nodes = self.0.entry(policy.clone()).or_default();
            return nodes.insert(status.node_name.clone()).then_some(News::Failed);
        }
        let nodes = self.0.get_mut(policy)?;
        let news = nodes.remove(&status.node_name).then_some(News::Realized);
        if nodes.is_empty() {
            self.0.remove(policy);
        }
        news
    }

    /// The policy is gone.
    pub(super) fn end(&mut self, policy: &Uid) {
        self.0.remove(policy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_once_and_so_is_its_end() {
        let (mut realization, policy) = (Realization::default(), Uid::from("a"));
        let mut check = |node: &str, realization_failure| {
            let node_name = node.to_owned();
            let status = NetworkPolicyNodeStatus { node_name, realization_failure, ..Default::default() };
            realization.news(&policy, &status)
        };
        assert_eq!(check("n1", false), None);
        assert_eq!(check("n1", true), Some(News::Failed));
        assert_eq!(check("n1", true), None);
        assert_eq!(check("n2", true), Some(News::Failed));
        assert_eq!(check("n1", false), Some(News::Realized));
        assert_eq!(check("n2", false), Some(News::Realized));
        assert!(realization.0.is_empty());
    }
}
