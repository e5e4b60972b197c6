//! ClusterInfoImport: another cluster of the ClusterSet, for the core agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClusterInfo;
use crate::multicluster::Condition;
use crate::object::{is_default, object};

object!(
    /// Another cluster: `CLUSTERID-clusterinfo` in the Namespace of the member's controller, which writes it. Agents
    /// make routes to the cluster of it.
    Namespaced ClusterInfoImport in "multicluster.crd.antrea.io", "v1alpha1", "clusterinfoimports" {
        /// Networks and Gateways of the cluster.
        spec: ClusterInfo,
        /// What came of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<ClusterInfoImportStatus>,
    }
);

/// What came of a ClusterInfoImport.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClusterInfoImportStatus {
    /// Upstream declares conditions and writes none.
    #[serde(skip_serializing_if = "is_default")]
    pub conditions: Vec<Condition>,
}
