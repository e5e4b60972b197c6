//! NetworkPolicyEvaluation: which rule decides about traffic between two Pods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Direction, NetworkPolicyReference, PodReference, RuleAction};
use crate::api::api_object;
use crate::meta::Metadata;
use crate::object::is_default;
use crate::protobuf::message;

/// A question, and the answer to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkPolicyEvaluation {
    /// Empty.
    pub metadata: Metadata,
    /// The question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<NetworkPolicyEvaluationRequest>,
    /// The answer; none where no policy decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<NetworkPolicyEvaluationResponse>,
}

/// What is asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkPolicyEvaluationRequest {
    /// Where the traffic comes from.
    pub source: Entity,
    /// Where it goes.
    pub destination: Entity,
}

/// An end of traffic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Entity {
    /// The Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodReference>,
}

/// The rule that decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyEvaluationResponse {
    /// Its policy.
    pub network_policy: NetworkPolicyReference,
    /// Its place in the policy; the highest int32 where it is the isolation that policies of Kubernetes bring.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rule_index: i32,
    /// What it is.
    pub rule: RuleRef,
}

/// A rule in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleRef {
    /// Which way its traffic goes.
    pub direction: Direction,
    /// Its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<RuleAction>,
}

message!(NetworkPolicyEvaluation { 1 request, 2 response, 3 metadata });
message!(NetworkPolicyEvaluationRequest { 1 source, 2 destination });
message!(Entity { 1 pod });
message!(NetworkPolicyEvaluationResponse { 1 network_policy, 2 rule_index, 3 rule });
message!(RuleRef { 1 direction, 2 name, 3 action });
api_object!(NetworkPolicyEvaluation in super::API_VERSION);
