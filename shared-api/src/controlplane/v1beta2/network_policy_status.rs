//! NetworkPolicyStatus: what agents report about a policy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::api_object;
use crate::meta::Metadata;
use crate::object::is_default;
use crate::protobuf::message;

/// How far a policy is realized; it has the name of the policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkPolicyStatus {
    /// The name.
    pub metadata: Metadata,
    /// The Nodes that report: one, in what an agent sends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NetworkPolicyNodeStatus>,
}

/// How far a policy is realized on a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkPolicyNodeStatus {
    /// The Node.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_name: String,
    /// Which generation of the policy this is about.
    #[serde(skip_serializing_if = "is_default")]
    pub generation: i64,
    /// Whether it cannot be realized.
    #[serde(skip_serializing_if = "is_default")]
    pub realization_failure: bool,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

message!(NetworkPolicyStatus { 1 metadata, 2 nodes });
message!(NetworkPolicyNodeStatus { 1 node_name, 2 generation, 3 realization_failure, 4 message });
api_object!(NetworkPolicyStatus in super::API_VERSION);
