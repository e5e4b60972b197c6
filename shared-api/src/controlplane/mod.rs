//! What antrea-controller computes for agents, and what agents report: the group `controlplane.antrea.io`.

pub mod v1beta2;

/// The API group.
pub const GROUP: &str = "controlplane.antrea.io";
