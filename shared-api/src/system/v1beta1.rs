//! `system.antrea.io/v1beta1`: what the controller tells about itself, asked of the controller. There is no protobuf of it.

use k8s_openapi::api::core::v1::ObjectReference;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::api_object;
use crate::crd::is_zero;
use crate::crd::v1beta1::{self as crd, ControllerCondition, NetworkPolicyControllerInfo};
use crate::meta::Metadata;

/// Group and version.
pub const API_VERSION: &str = "system.antrea.io/v1beta1";

/// The state of antrea-controller: what the custom resource of the same name says, as it is now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct AntreaControllerInfo {
    /// The name.
    pub metadata: Metadata,
    /// The version of the controller.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The Pod that it runs in.
    pub pod_ref: ObjectReference,
    /// The Node that it runs on.
    pub node_ref: ObjectReference,
    /// The Service that it is reached by.
    pub service_ref: ObjectReference,
    /// What it computes.
    pub network_policy_controller_info: NetworkPolicyControllerInfo,
    /// How many agents watch it.
    #[serde(skip_serializing_if = "is_zero")]
    pub connected_agent_num: i32,
    /// What works.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub controller_conditions: Vec<ControllerCondition>,
    /// The port of the controller's API.
    #[serde(skip_serializing_if = "is_zero")]
    pub api_port: i32,
}

api_object!(AntreaControllerInfo in API_VERSION, "controllerinfos");

impl From<crd::AntreaControllerInfo> for AntreaControllerInfo {
    fn from(info: crd::AntreaControllerInfo) -> Self {
        Self {
            metadata: Metadata { name: info.metadata.name.unwrap_or_default(), ..Metadata::default() },
            version: info.version,
            pod_ref: info.pod_ref,
            node_ref: info.node_ref,
            service_ref: info.service_ref,
            network_policy_controller_info: info.network_policy_controller_info,
            connected_agent_num: info.connected_agent_num,
            controller_conditions: info.controller_conditions,
            api_port: info.api_port,
        }
    }
}
