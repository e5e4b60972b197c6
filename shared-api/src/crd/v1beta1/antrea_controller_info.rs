//! AntreaControllerInfo: what the controller tells about itself, every minute.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConditionStatus, NetworkPolicyControllerInfo};
use crate::crd::{cluster_object, is_zero};

/// The state of antrea-controller; one object, `antrea-controller`, written by the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AntreaControllerInfo {
    /// Always `crd.antrea.io/v1beta1`.
    #[serde(default = "AntreaControllerInfo::api_version")]
    pub api_version: String,
    /// Always `AntreaControllerInfo`.
    #[serde(default = "AntreaControllerInfo::kind")]
    pub kind: String,
    /// Standard metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The version of the controller.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The Pod that it runs in.
    #[serde(default)]
    pub pod_ref: ObjectReference,
    /// The Node that it runs on.
    #[serde(default)]
    pub node_ref: ObjectReference,
    /// The Service that it is reached by.
    #[serde(default)]
    pub service_ref: ObjectReference,
    /// What it computes.
    #[serde(default)]
    pub network_policy_controller_info: NetworkPolicyControllerInfo,
    /// How many agents watch it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connected_agent_num: i32,
    /// What works.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controller_conditions: Vec<ControllerCondition>,
    /// The port of the controller's API.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub api_port: i32,
}

cluster_object!(AntreaControllerInfo, "AntreaControllerInfo", "antreacontrollerinfos", "v1beta1");

impl Default for AntreaControllerInfo {
    fn default() -> Self {
        Self {
            api_version: Self::api_version(),
            kind: Self::kind(),
            metadata: ObjectMeta::default(),
            version: String::new(),
            pod_ref: ObjectReference::default(),
            node_ref: ObjectReference::default(),
            service_ref: ObjectReference::default(),
            network_policy_controller_info: NetworkPolicyControllerInfo::default(),
            connected_agent_num: 0,
            controller_conditions: Vec::new(),
            api_port: 0,
        }
    }
}

/// One thing of the controller that works or does not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControllerCondition {
    /// What.
    #[serde(rename = "type")]
    pub condition_type: ControllerConditionType,
    /// Whether it works.
    pub status: ConditionStatus,
    /// When that was last looked at, to the second.
    pub last_heartbeat_time: Time,
    /// Why, in one word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What a controller tells about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ControllerConditionType {
    /// The controller runs. Always true: a controller that does not run writes nothing.
    ControllerHealthy,
}
