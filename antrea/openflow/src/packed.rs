//! Flows and groups as the bytes that OpenFlow has for them: an eighth of what the values take, compared as they are
//! and sent without being encoded again.

mod flow;
mod frame;
mod group;
mod parts;

pub use flow::PackedFlow;
pub use frame::PackedChange;
pub use group::PackedGroup;
pub use parts::{FlowPart, GroupPart, flow_parts, group_parts, group_sizes};
