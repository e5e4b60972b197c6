//! What changed, as watchers need it: who sees an object for the first time, a change of it, or that it is gone,
//! follows from the spans.

use std::sync::Arc;

use crate::{
    AddressGroup, AppliedToGroup, ComputedPolicy, GroupMember, GroupName, Span, SpanChange, Text, Uid,
};

/// One change of one object. There is at most one update of an object between two states.
#[derive(Clone, Debug)]
pub enum Update {
    /// Of a policy.
    Policy(PolicyUpdate),
    /// Of an AddressGroup.
    AddressGroup(GroupUpdate<AddressGroup>),
    /// Of an AppliedToGroup.
    AppliedToGroup(GroupUpdate<AppliedToGroup>),
    /// Of the Pods of a Node.
    Pods(PodsUpdate),
}

/// Which Pods of a Node are known: what the other updates say takes them into account. One that stays, however it changes,
/// is not told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodsUpdate {
    /// The Node.
    pub node: Text,
    /// Those that were not known.
    pub came: Vec<Uid>,
    /// Those that are gone.
    pub left: Vec<Uid>,
}

/// A change of a policy.
#[derive(Clone, Debug)]
pub enum PolicyUpdate {
    /// There is a new one.
    Added {
        /// It.
        policy: Arc<ComputedPolicy>,
        /// Who gets it.
        span: Span,
    },
    /// Its content or its span changed, or both.
    Modified {
        /// As it is now.
        policy: Arc<ComputedPolicy>,
        /// Whether those who know it have to hear of it again.
        content: Content,
        /// Who knew it, and who gets it.
        span: SpanChange,
    },
    /// It is gone.
    Removed {
        /// As it was.
        policy: Arc<ComputedPolicy>,
        /// Who knew it.
        span: Span,
    },
}

/// Whether the content of an object changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Only the span did.
    Same,
    /// It did.
    Changed,
}

/// A change of a group.
#[derive(Clone, Debug)]
pub enum GroupUpdate<Group> {
    /// There is a new one.
    Added {
        /// It.
        group: Group,
        /// Who gets it.
        span: Span,
    },
    /// Members or span changed, or both. A member whose fields changed is both removed, as it was, and added, as it is.
    Modified {
        /// Its name.
        name: GroupName,
        /// Members that it did not have.
        added: Vec<GroupMember>,
        /// Members that it has no longer.
        removed: Vec<GroupMember>,
        /// Who knew it, and who gets it.
        span: SpanChange,
    },
    /// It is gone.
    Removed {
        /// Its name.
        name: GroupName,
        /// Who knew it.
        span: Span,
    },
}
