//! NetworkPolicy: a policy of any kind, computed for agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NetworkPolicyRule;
use crate::api::api_object;
use crate::meta::Metadata;
use crate::protobuf::message;
use crate::watch::watched;
use crate::word::closed_word;

/// A policy, with groups in the place of selectors. Its name is the UID of its source, its generation that of its source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkPolicy {
    /// Name, UID and generation.
    pub metadata: Metadata,
    /// The rules; in policies of Antrea the earlier one wins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<NetworkPolicyRule>,
    /// The AppliedToGroups of all rules; empty where each rule has its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applied_to_groups: Vec<String>,
    /// The priority in its tier: the lower number wins. Policies of Kubernetes have none.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "whole_if_it_is")]
    pub priority: Option<f64>,
    /// The priority of its tier: the lower number wins. Policies of Kubernetes have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier_priority: Option<i32>,
    /// What it was computed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<NetworkPolicyReference>,
}

message!(NetworkPolicy {
    1 metadata,
    2 rules,
    3 applied_to_groups,
    4 priority,
    5 tier_priority,
    6 source_ref,
});
api_object!(NetworkPolicy in super::API_VERSION, "networkpolicies");
watched!(NetworkPolicy, NetworkPolicy);

/// The object that a policy was computed from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct NetworkPolicyReference {
    /// Its kind.
    #[serde(rename = "type")]
    pub policy_type: NetworkPolicyType,
    /// Its Namespace, if it is in one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its UID.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

message!(NetworkPolicyReference { 1 policy_type "type", 2 namespace, 3 name, 4 uid });

closed_word!(
    /// The kinds that policies are computed from.
    NetworkPolicyType "type" {
        /// networking.k8s.io/v1 NetworkPolicy.
        K8sNetworkPolicy = "K8sNetworkPolicy",
        /// crd.antrea.io ClusterNetworkPolicy.
        AntreaClusterNetworkPolicy = "AntreaClusterNetworkPolicy",
        /// crd.antrea.io NetworkPolicy.
        AntreaNetworkPolicy = "AntreaNetworkPolicy",
        /// policy.networking.k8s.io AdminNetworkPolicy.
        AdminNetworkPolicy = "AdminNetworkPolicy",
        /// policy.networking.k8s.io BaselineAdminNetworkPolicy.
        BaselineAdminNetworkPolicy = "BaselineAdminNetworkPolicy",
        /// policy.networking.k8s.io ClusterNetworkPolicy.
        K8sClusterNetworkPolicy = "K8sClusterNetworkPolicy",
    }
);

/// Whole numbers have no decimal point in Go's JSON.
fn whole_if_it_is<S: serde::Serializer>(priority: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    let whole = priority.and_then(|priority| priority.to_string().parse::<i64>().ok());
    match whole {
        Some(whole) => serializer.serialize_i64(whole),
        None => priority.serialize(serializer),
    }
}
