//! About the components of Antrea: the group `system.antrea.io`.

pub mod v1beta1;

/// The API group.
pub const GROUP: &str = "system.antrea.io";
