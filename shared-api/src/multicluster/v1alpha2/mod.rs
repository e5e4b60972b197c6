//! `multicluster.crd.antrea.io/v1alpha2`.

mod cluster_claim;
mod cluster_set;

pub use cluster_claim::{CLUSTER_ID_CLAIM, CLUSTER_SET_ID_CLAIM, ClusterClaim};
pub use cluster_set::{ClusterSet, ClusterSetSpec, ClusterSetStatus, LeaderCluster};
