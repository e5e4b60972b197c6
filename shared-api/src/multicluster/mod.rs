//! Custom resources of the group `multicluster.crd.antrea.io`: the ClusterSet, what its members exchange through the
//! Common Area, and what the Multi-cluster controller hands to the core agent.

pub mod v1alpha1;

mod condition;

pub use condition::{Condition, ConditionStatus, condition_type};

/// The API group.
pub const GROUP: &str = "multicluster.crd.antrea.io";
