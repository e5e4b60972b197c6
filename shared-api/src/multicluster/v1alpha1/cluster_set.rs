//! ClusterSet as it was before v1alpha2: deprecated, still served.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::multicluster::v1alpha2::ClusterSetStatus;
use crate::object::{is_default, object};
use crate::schema;

object!(
    /// The set of clusters that this cluster belongs to. Use v1alpha2.
    Namespaced ClusterSet in "multicluster.crd.antrea.io", "v1alpha1", "clustersets" {
        /// Who is who.
        spec: ClusterSetSpec,
        /// Who is connected.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<ClusterSetStatus>,
    }
);

/// Who is who in a set of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["leaders"]))]
pub struct ClusterSetSpec {
    /// This cluster. Upstream drops the field in this version, though its own samples have it.
    #[serde(rename = "clusterID", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_id")]
    pub cluster_id: String,
    /// The members, as the leader was told of them; a member lists itself. Nothing depends on it any more.
    #[serde(skip_serializing_if = "is_default")]
    pub members: Vec<MemberCluster>,
    /// The leader, one.
    #[schemars(length(min = 1, max = 1))]
    pub leaders: Vec<MemberCluster>,
    /// The Namespace of the Common Area in the leader.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_id")]
    pub namespace: String,
}

/// A cluster of the set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MemberCluster {
    /// Its ID.
    #[serde(rename = "clusterID", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_id")]
    pub cluster_id: String,
    /// The URL of its API server.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_server")]
    pub server: String,
    /// The Secret with `ca.crt` and `token` for it.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_name")]
    pub secret: String,
    /// The ServiceAccount that it uses at the leader.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_name")]
    pub service_account: String,
}
