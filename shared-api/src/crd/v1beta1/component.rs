//! What the agent and the controller both tell about themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::crd::is_zero;

/// Whether a condition holds (Kubernetes API conventions, "conditions").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It does.
    True,
    /// It does not.
    False,
    /// Nobody knows.
    Unknown,
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// How many objects the policy engine of a component holds. Zeros are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyControllerInfo {
    /// Policies.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub network_policy_num: i32,
    /// Groups of peers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub address_group_num: i32,
    /// Groups that policies are applied to.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub applied_to_group_num: i32,
}
