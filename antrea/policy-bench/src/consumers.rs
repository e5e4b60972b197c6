//! Who receives updates: one consumer of everything a kind, and three for each Node.

use std::collections::BTreeMap;
use std::hint::black_box;

use antrea_policy::{GroupUpdate, PolicyUpdate, Span, Update};

/// Counts what it receives.
#[derive(Debug, Default)]
pub(crate) struct Consumers {
    policies: u64,
    address_groups: u64,
    applied_to_groups: u64,
    /// By Node; empty without Node watchers.
    nodes: BTreeMap<String, u64>,
}

impl Consumers {
    pub(crate) fn new(node_watchers: u32) -> Self {
        let nodes = (0..node_watchers).map(|node| (crate::objects::node_name(node), 0)).collect();
        Self { nodes, ..Self::default() }
    }

    pub(crate) fn take(&mut self, update: &Update) {
        black_box(update);
        match update {
            Update::Policy(_) => self.policies += 1,
            Update::AddressGroup(_) => self.address_groups += 1,
            Update::AppliedToGroup(_) => self.applied_to_groups += 1,
        }
        if !self.nodes.is_empty() {
            match update {
                Update::Policy(update) => self.spread(policy_spans(update)),
                Update::AddressGroup(update) => self.spread(group_spans(update)),
                Update::AppliedToGroup(update) => self.spread(group_spans(update)),
            }
        }
    }

    fn spread(&mut self, [after, before]: [Option<&Span>; 2]) {
        let entered = after.into_iter().flat_map(Span::nodes);
        let left = before.into_iter().flat_map(Span::nodes);
        let left = left.filter(|node| after.is_none_or(|after| !after.contains(node.as_str())));
        for node in entered.chain(left) {
            if let Some(count) = self.nodes.get_mut(node.as_str()) {
                *count += 1;
            }
        }
    }

    /// Shows on standard error how many updates there were.
    pub(crate) fn report(&self) {
        let to_nodes: u64 = self.nodes.values().sum();
        eprintln!(
            "{} policies, {} AddressGroups, {} AppliedToGroups; {to_nodes} updates to Nodes",
            self.policies, self.address_groups, self.applied_to_groups
        );
    }
}

fn policy_spans(update: &PolicyUpdate) -> [Option<&Span>; 2] {
    match update {
        PolicyUpdate::Added { span, .. } => [Some(span), None],
        PolicyUpdate::Modified { span, .. } => [Some(&span.after), Some(&span.before)],
        PolicyUpdate::Removed { span, .. } => [None, Some(span)],
    }
}

fn group_spans<Group>(update: &GroupUpdate<Group>) -> [Option<&Span>; 2] {
    match update {
        GroupUpdate::Added { span, .. } => [Some(span), None],
        GroupUpdate::Modified { span, .. } => [Some(&span.after), Some(&span.before)],
        GroupUpdate::Removed { span, .. } => [None, Some(span)],
    }
}
