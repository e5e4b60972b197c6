//! Which Pods of each Node are known.

use std::collections::BTreeSet;

use antrea_policy::{PodsUpdate, Text, Uid};
use hashbrown::HashMap;

/// The Pods of Nodes, by their UIDs.
#[derive(Default)]
pub(super) struct Pods {
    by_node: HashMap<Text, BTreeSet<Uid>>,
    /// Nodes that got Pods since this was asked last.
    fuller: BTreeSet<Text>,
}

impl Pods {
    pub(super) fn apply(&mut self, PodsUpdate { node, came, left }: PodsUpdate) {
        let pods = self.by_node.entry(node.clone()).or_default();
        left.iter().for_each(|pod| _ = pods.remove(pod));
        if !came.is_empty() {
            pods.extend(came);
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
        self.by_node.get(node).into_iter().flatten().cloned().collect()
    }
}
