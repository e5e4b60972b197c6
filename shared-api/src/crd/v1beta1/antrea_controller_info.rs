//! AntreaControllerInfo: what the controller tells about itself, every minute.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConditionStatus, NetworkPolicyControllerInfo};
use crate::crd::is_zero;
use crate::object::object;

object!(
    /// The state of antrea-controller; one object, `antrea-controller`, written by the controller.
    Cluster AntreaControllerInfo in "crd.antrea.io", "v1beta1", "antreacontrollerinfos" {
        /// The version of the controller.
        #[serde(skip_serializing_if = "String::is_empty")]
        version: String,
        /// The Pod that it runs in.
        pod_ref: ObjectReference,
        /// The Node that it runs on.
        node_ref: ObjectReference,
        /// The Service that it is reached by.
        service_ref: ObjectReference,
        /// What it computes.
        network_policy_controller_info: NetworkPolicyControllerInfo,
        /// How many agents watch it.
        #[serde(skip_serializing_if = "is_zero")]
        connected_agent_num: i32,
        /// What works.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        controller_conditions: Vec<ControllerCondition>,
        /// The port of the controller's API.
        #[serde(skip_serializing_if = "is_zero")]
        api_port: i32,
    }
);

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
