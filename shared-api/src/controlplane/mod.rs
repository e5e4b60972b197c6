//! What antrea-controller computes for agents, and what agents report: the group `controlplane.antrea.io`.

mod round;
pub mod v1beta2;

pub use round::Round;

/// The API group.
pub const GROUP: &str = "controlplane.antrea.io";
