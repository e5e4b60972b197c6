//! Conditions as all kinds of the group have them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::is_default;
use crate::schema;
use crate::word::word;

word!(
    /// Whether a condition holds (Kubernetes API conventions, "conditions").
    ConditionStatus {
        /// It does.
        True = "True",
        /// It does not.
        False = "False",
        /// Nobody knows.
        Unknown = "Unknown",
    }
);

/// Types of conditions.
pub mod condition_type {
    /// Of a ClusterSet, and of each cluster in its status.
    pub const READY: &str = "Ready";
    /// Of the leader in a member's ClusterSet: it is the leader of this member.
    pub const IS_LEADER: &str = "IsLeader";
    /// Of a member's ClusterSet, an addition to upstream's: the leader refuses the token because it has expired.
    pub const CREDENTIAL_EXPIRED: &str = "CredentialExpired";
    /// Of a member's ClusterSet, an addition to upstream's, there only while it is true: what it and its Secret say now is
    /// not used, and the member goes on with what they said before, or with the Secret that it may read.
    pub const CREDENTIAL_UNUSABLE: &str = "CredentialUnusable";
    /// Of a member's ClusterSet, an addition to upstream's, there only while it is true: the leader does not take what the
    /// member says of itself, and goes by what it was told before.
    pub const ANNOUNCE_REFUSED: &str = "AnnounceRefused";
    /// Of a ResourceExport that was merged, and of a cluster that imported a ResourceImport.
    pub const SUCCEEDED: &str = "Succeeded";
    /// Of a ResourceExport that could not be merged.
    pub const FAILURE: &str = "Failure";
    /// Of a ResourceExport, an addition to upstream's: another cluster exports a different value, and wins or loses.
    /// Reasons are those of the condition of the same name of a ServiceExport (KEP-1645). Of a member, in ClusterSets and
    /// its announce: its networks overlap with those of another.
    pub const CONFLICT: &str = "Conflict";
    /// Of a member, in ClusterSets and its announce, an addition to upstream's: it claims networks that no admin of the
    /// leader has bound to it.
    pub const NETWORK_UNAPPROVED: &str = "NetworkUnapproved";
    /// Of a member, in the same places, an addition to upstream's: it exports as much as it may.
    pub const EXPORT_LIMIT: &str = "ExportLimit";
    /// Of the leader's ClusterSet, an addition to upstream's, there only while it is false: the API server keeps since when
    /// networks need approval.
    pub const NETWORK_APPROVAL: &str = "NetworkApproval";
    /// Of a member, in the same places, an addition to upstream's, where it names networks for the export of Pods alone:
    /// whether it has all of them.
    pub const POD_NETWORKS: &str = "PodNetworks";
}

/// Reasons of the condition `Conflict` of a member whose own claims stand.
pub mod contested {
    /// Another member claims some of its networks.
    pub const NETWORK: &str = "NetworkContested";
    /// Another member names its Gateway.
    pub const GATEWAY: &str = "GatewayContested";
}

/// Something that holds or does not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What, as `Ready`.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// When that changed last, to the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Why, in one word.
    #[serde(skip_serializing_if = "is_default")]
    pub reason: String,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "is_default")]
    pub message: String,
}

/// What one cluster says, or what is said of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClusterConditions {
    /// The cluster.
    #[serde(rename = "clusterID", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_id")]
    pub cluster_id: String,
    /// The conditions.
    #[serde(skip_serializing_if = "is_default")]
    pub conditions: Vec<Condition>,
}
