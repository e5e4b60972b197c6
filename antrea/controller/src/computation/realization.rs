//! Where policies are not realized. Policies of Kubernetes have no status that could say so: the log does.
//!
//! What agents report is bounded by what there is: policies that are known, on Nodes of the cluster.

use std::collections::{BTreeMap, BTreeSet};

use antrea_kit::known::Known;
use antrea_kit::watch::WatchEvent;
use antrea_policy::Uid;
use antrea_shared_api::controlplane::v1beta2::NetworkPolicyNodeStatus;
use tracing::{debug, info, warn};

/// How much of an agent's text is logged, in bytes.
const LONGEST_REASON: usize = 256;

/// The Nodes that could not realize a policy.
#[derive(Debug, Default)]
pub(super) struct Realization {
    nodes: Known<()>,
    failed: BTreeMap<Uid, BTreeSet<String>>,
}

/// Which Nodes there are is not known yet: whoever reports of one has to do it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodesUnknown;

/// What is worth a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    Failed,
    Realized,
    NoSuchNode,
}

impl Realization {
    /// Takes in which Nodes there are. What one reported that is gone is nobody's.
    pub(super) fn learn_nodes(&mut self, event: WatchEvent<(String, ())>) {
        let may_remove = !matches!(event, WatchEvent::Applied(_));
        self.nodes.learn(event);
        if let Some(nodes) = self.nodes.all().filter(|_| may_remove) {
            self.failed.retain(|_, failed| {
                failed.retain(|node| nodes.contains_key(node));
                !failed.is_empty()
            });
        }
    }

    /// Takes in what a Node says of a policy that there is.
    pub(super) fn learn(
        &mut self,
        policy: &Uid,
        status: &NetworkPolicyNodeStatus,
    ) -> Result<(), NodesUnknown> {
        let NetworkPolicyNodeStatus { node_name: node, generation, message, .. } = status;
        let reason = shortened(message);
        match self.news(policy, status)? {
            // A field that is called message would be the message of the line, unescaped.
            Some(News::Failed) => {
                warn!(%policy, generation, node, reason, "A policy is not realized on a Node");
            }
            Some(News::Realized) => info!(%policy, generation, node, "A policy is realized on a Node again"),
            Some(News::NoSuchNode) => {
                debug!(%policy, node = shortened(node), "A report is of a Node that there is not");
            }
            None => {}
        }
        Ok(())
    }

    fn news(&mut self, policy: &Uid, status: &NetworkPolicyNodeStatus) -> Result<Option<News>, NodesUnknown> {
        let node = &status.node_name;
        if !self.nodes.all().ok_or(NodesUnknown)?.contains_key(node) {
            return Ok(Some(News::NoSuchNode));
        }
        if status.realization_failure {
            let nodes = self.failed.entry(policy.clone()).or_default();
            return Ok(nodes.insert(node.clone()).then_some(News::Failed));
        }
        let Some(nodes) = self.failed.get_mut(policy) else { return Ok(None) };
        let news = nodes.remove(node).then_some(News::Realized);
        if nodes.is_empty() {
            self.failed.remove(policy);
        }
        Ok(news)
    }

    /// The policy is gone.
    pub(super) fn end(&mut self, policy: &Uid) {
        self.failed.remove(policy);
    }
}

fn shortened(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST_REASON)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(names: &[&str]) -> WatchEvent<(String, ())> {
        WatchEvent::Resynced(names.iter().map(|name| ((*name).to_owned(), ())).collect())
    }

    fn report(
        realization: &mut Realization,
        node: &str,
        realization_failure: bool,
    ) -> Result<Option<News>, NodesUnknown> {
        let node_name = node.to_owned();
        let status = NetworkPolicyNodeStatus { node_name, realization_failure, ..Default::default() };
        realization.news(&Uid::from("a"), &status)
    }

    #[test]
    fn a_failure_is_told_once_and_so_is_its_end() {
        let mut realization = Realization::default();
        realization.learn_nodes(nodes(&["n1", "n2"]));
        let mut check = |node: &str, failure| report(&mut realization, node, failure);
        assert_eq!(check("n1", false), Ok(None));
        assert_eq!(check("n1", true), Ok(Some(News::Failed)));
        assert_eq!(check("n1", true), Ok(None));
        assert_eq!(check("n2", true), Ok(Some(News::Failed)));
        assert_eq!(check("n1", false), Ok(Some(News::Realized)));
        assert_eq!(check("n2", false), Ok(Some(News::Realized)));
        assert!(realization.failed.is_empty());
    }

    #[test]
    fn of_nodes_that_there_are_not_nothing_is_kept() {
        let mut realization = Realization::default();
        assert_eq!(report(&mut realization, "n1", true), Err(NodesUnknown));
        realization.learn_nodes(nodes(&["n1", "n2"]));
        for number in 0..1000 {
            let name = format!("made-up-{number}");
            assert_eq!(report(&mut realization, &name, true), Ok(Some(News::NoSuchNode)));
        }
        assert!(realization.failed.is_empty());
        for node in ["n1", "n2"] {
            assert_eq!(report(&mut realization, node, true), Ok(Some(News::Failed)));
        }
        realization.learn_nodes(WatchEvent::Deleted(("n1".to_owned(), ())));
        assert_eq!(realization.failed[&Uid::from("a")], BTreeSet::from(["n2".to_owned()]));
        realization.learn_nodes(nodes(&["n1"]));
        assert!(realization.failed.is_empty());
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shortened("full"), "full");
        assert_eq!(shortened(&"x".repeat(300)).len(), 256);
        assert_eq!(shortened(&"ü".repeat(300)), "ü".repeat(128));
        assert_eq!(shortened(&format!("x{}", "ü".repeat(300))).len(), 255);
    }
}
