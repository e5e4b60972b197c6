//! Faults on the way from objects to flows, which tests make on purpose: what becomes of a value between two stages.

use antrea_pipeline::policy::{FlowChange, RuleChanges};
use antrea_policy::Update;
use antrea_policy_reference::Object;

/// What each stage hands to the next.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    /// As the index reads an object.
    pub(crate) object: fn(Object) -> Object,
    /// As it tells what changed.
    pub(crate) update: fn(Update) -> Option<Update>,
    /// As an agent plans the rules of its Node.
    pub(crate) rules: fn(RuleChanges) -> RuleChanges,
    /// As the pipeline writes flows.
    pub(crate) flow: fn(FlowChange) -> Option<FlowChange>,
}

/// Every value as it is.
pub(crate) const NONE: Fault =
    Fault { object: |object| object, update: Some, rules: |rules| rules, flow: Some };
