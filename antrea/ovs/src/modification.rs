//! What a bundle is made of.

use std::fmt;

use antrea_openflow::{FlowMod, GroupMod, Message};

/// A member of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Modification {
    /// Of a flow.
    Flow(FlowMod),
    /// Of a group.
    Group(GroupMod),
}

impl Modification {
    /// As a message.
    pub(crate) fn to_message(&self) -> Message {
        match self {
            Self::Flow(flow) => Message::FlowMod(flow.clone()),
            Self::Group(group) => Message::GroupMod(group.clone()),
        }
    }
}

/// As `ovs-ofctl` prints a flow; of a group its number.
impl fmt::Display for Modification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flow(flow) => write!(f, "flow {flow}"),
            Self::Group(group) => write!(f, "group {}", group.id()),
        }
    }
}
