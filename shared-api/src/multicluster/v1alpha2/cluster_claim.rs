//! ClusterClaim: the IDs of a cluster and of its ClusterSet, before ClusterSets had them.

use crate::object::object;

object!(
    /// An ID, by its name. Only read where the ClusterSet lacks the ID.
    Namespaced ClusterClaim in "multicluster.crd.antrea.io", "v1alpha2", "clusterclaims" {
        /// The ID.
        value: String,
    }
);

/// The name of the ClusterClaim with the ID of the cluster.
pub const CLUSTER_ID_CLAIM: &str = "id.k8s.io";

/// The name of the ClusterClaim with the ID of the ClusterSet.
pub const CLUSTER_SET_ID_CLAIM: &str = "clusterset.k8s.io";
