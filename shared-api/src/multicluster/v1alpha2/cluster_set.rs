//! ClusterSet: what makes a cluster the leader, or a member, of a set of clusters.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::multicluster::{ClusterConditions, Condition};
use crate::object::{is_default, object};
use crate::schema;

object!(
    /// The set of clusters that this cluster belongs to. The name is the ID of the set, the same in every cluster.
    Namespaced ClusterSet in "multicluster.crd.antrea.io", "v1alpha2", "clustersets" {
        /// Who is who.
        spec: ClusterSetSpec,
        /// Who is connected; written by the Multi-cluster controller.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<ClusterSetStatus>,
    }
);

/// Who is who in a set of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["clusterID", "leaders"]), transform = leader_is_constant)]
pub struct ClusterSetSpec {
    /// This cluster. It never changes.
    #[serde(rename = "clusterID", default)]
    #[schemars(schema_with = "schema::constant_id")]
    pub cluster_id: String,
    /// The leader, one; in the leader's own ClusterSet itself.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1))]
    pub leaders: Vec<LeaderCluster>,
    /// The Namespace of the Common Area in the leader.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_id")]
    pub namespace: String,
}

/// Rules of transition must not stand at the items of a list, which have no old value of their own.
fn leader_is_constant(schema: &mut Schema) {
    let rule = "!has(self.leaders[0].clusterID) || !has(oldSelf.leaders[0].clusterID) || \
                self.leaders[0].clusterID == oldSelf.leaders[0].clusterID";
    schema::rule(schema, rule, "leaders[0].clusterID cannot be changed");
}

/// A leader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaderCluster {
    /// Its ID. It never changes.
    #[serde(rename = "clusterID", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_id")]
    pub cluster_id: String,
    /// The Secret with `ca.crt` and `token` for it, in the Namespace of the ClusterSet. Only for members.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_name")]
    pub secret: String,
    /// The URL of its API server. Only for members.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_server")]
    pub server: String,
}

/// Who is connected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSetStatus {
    /// For the leader the number of members, for a member 1.
    #[serde(skip_serializing_if = "is_default")]
    pub total_clusters: i32,
    /// How many of them are connected.
    #[serde(skip_serializing_if = "is_default")]
    pub ready_clusters: i32,
    /// Of the whole: `Ready`.
    #[serde(skip_serializing_if = "is_default")]
    pub conditions: Vec<Condition>,
    /// Of each: for the leader `Ready` of the members, for a member `Ready` and `IsLeader` of the leader.
    #[serde(skip_serializing_if = "is_default")]
    pub cluster_statuses: Vec<ClusterConditions>,
    /// The generation that the status is about.
    #[serde(skip_serializing_if = "is_default")]
    pub observed_generation: i64,
    /// For the leader: since when networks of members that are not private need the approval of an admin. What members had
    /// before stands in their announces. An addition to upstream's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_approval_since: Option<Time>,
}
