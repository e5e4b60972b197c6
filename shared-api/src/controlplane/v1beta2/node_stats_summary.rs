//! NodeStatsSummary: what an agent has counted since its last report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NetworkPolicyReference, PodReference};
use crate::api::api_object;
use crate::meta::Metadata;
use crate::protobuf::message;
use crate::stats::v1alpha1::{RuleTrafficStats, TrafficStats};

/// Traffic that policies on a Node decided about, and who is in multicast groups there; it has the name of the Node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStatsSummary {
    /// The name.
    pub metadata: Metadata,
    /// NetworkPolicies of Kubernetes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network_policies: Vec<NetworkPolicyStats>,
    /// ClusterNetworkPolicies of Antrea.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub antrea_cluster_network_policies: Vec<NetworkPolicyStats>,
    /// NetworkPolicies of Antrea.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub antrea_network_policies: Vec<NetworkPolicyStats>,
    /// Multicast groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub multicast: Vec<MulticastGroupInfo>,
}

/// Traffic that a policy decided about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyStats {
    /// The policy.
    pub network_policy: CountedPolicy,
    /// All of it.
    #[serde(default)]
    pub traffic_stats: TrafficStats,
    /// What each rule did, of policies whose rules have names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rule_traffic_stats: Vec<RuleTrafficStats>,
}

/// A policy that traffic was counted for. Agents of upstream's write its UID, and leave all else empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CountedPolicy {
    /// Its kind. It decides nothing, so that it may be any word.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub policy_type: String,
    /// Its Namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its UID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

impl From<&NetworkPolicyReference> for CountedPolicy {
    fn from(policy: &NetworkPolicyReference) -> Self {
        let NetworkPolicyReference { policy_type, namespace, name, uid } = policy.clone();
        Self { policy_type: policy_type.to_string(), namespace, name, uid }
    }
}

/// Who is in a multicast group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MulticastGroupInfo {
    /// The address of the group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Pods of the Node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<PodReference>,
}

message!(NodeStatsSummary {
    1 metadata,
    2 network_policies,
    3 antrea_cluster_network_policies,
    4 antrea_network_policies,
    5 multicast,
});
message!(NetworkPolicyStats { 1 network_policy, 2 traffic_stats, 3 rule_traffic_stats });
message!(CountedPolicy { 1 policy_type "type", 2 namespace, 3 name, 4 uid });
message!(MulticastGroupInfo { 1 group, 2 pods });
api_object!(NodeStatsSummary in super::API_VERSION);
