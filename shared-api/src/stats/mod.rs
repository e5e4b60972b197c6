//! Traffic that policies decided about: the group `stats.antrea.io`.

pub mod v1alpha1;

/// The API group.
pub const GROUP: &str = "stats.antrea.io";
