//! Which Pods of each Node are known.

use std::collections::BTreeSet;

use antrea_policy::{PodsUpdate, Text, Uid};
use hashbrown::HashMap;

/// The Pods of Nodes, by their UIDs.
#[derive(Default)]
pub(super) struct Pods {
    /// Sorted: a Node has few, and most are told at once.
    by_node: HashMap<Text, Vec<Uid>>,
    /// Nodes that got Pods since this was asked last.
    fuller: BTreeSet<Text>,
}

impl Pods {
    pub(super) fn apply(&mut self, PodsUpdate { node, came, mut left }: PodsUpdate) {
        let pods = self.by_node.entry(node.clone()).or_default();
        if !left.is_empty() {
            left.sort_unstable();
            pods.retain(|pod| left.binary_search(pod).is_err());
        }
        if !came.is_empty() {
            pods.extend(came);
            pods.sort_unstable();
            pods.dedup();
            self.fuller.insert(node);
        } else if pods.is_empty() {
            self.by_node.remove(&node);
        }
    }

    /// The Nodes that got Pods since this was asked last. That Pods are gone is not worth telling.
    pub(super) fn take_fuller(&mut self) -> BTreeSet<Text> {
        std::mem::take(&mut self.fuller)
    }

    /// The Pods of a Node.
    pub(super) fn on(&self, node: &str) -> Vec<Uid> {
        self.by_node.get(node).cloned().unwrap_or_default()
    }
}
