//! Custom resources of the group `multicluster.crd.antrea.io`: the ClusterSet, what its members exchange through the
//! Common Area, and what the Multi-cluster controller hands to the core agent.

pub mod v1alpha1;
pub mod v1alpha2;
pub mod well_known;

mod condition;
mod conversion;

pub use condition::{ClusterConditions, Condition, ConditionStatus, condition_type, contested};
pub use conversion::UnknownClusterId;

/// The API group.
pub const GROUP: &str = "multicluster.crd.antrea.io";
