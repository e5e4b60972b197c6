//! Changes of rules, and the changes of flows that they lead to.

use std::collections::BTreeMap;

use antrea_openflow::Flow;

use super::{ConjunctionId, PolicyRule};

/// The rules that change: to what, or to none where they go.
pub type RuleChanges = BTreeMap<ConjunctionId, Option<PolicyRule>>;

/// A change of one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowChange {
    /// There is none with this table, priority and match.
    Add(Flow),
    /// There is one, with other actions.
    Modify(Flow),
    /// It goes.
    Delete(Flow),
}

/// How many flows change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// New ones.
    pub added: usize,
    /// Those with other actions than before.
    pub modified: usize,
    /// Those that are gone.
    pub deleted: usize,
}

impl FlowCounts {
    /// Of `changes`. A flow that changes twice counts twice.
    pub fn of(changes: &[FlowChange]) -> Self {
        let mut counts = Self::default();
        for change in changes {
            match change {
                FlowChange::Add(_) => counts.added += 1,
                FlowChange::Modify(_) => counts.modified += 1,
                FlowChange::Delete(_) => counts.deleted += 1,
            }
        }
        counts
    }
}
