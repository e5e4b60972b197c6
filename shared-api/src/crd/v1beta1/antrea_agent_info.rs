//! AntreaAgentInfo: what the agent of a Node tells about itself, every minute.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConditionStatus, NetworkPolicyControllerInfo};
use crate::crd::{cluster_object, is_zero};

/// The state of the agent on a Node; the object has the name of the Node. The controller creates and deletes it with
/// the Node, the agent keeps it up to date.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AntreaAgentInfo {
    /// Always `crd.antrea.io/v1beta1`.
    #[serde(default = "AntreaAgentInfo::api_version")]
    pub api_version: String,
    /// Always `AntreaAgentInfo`.
    #[serde(default = "AntreaAgentInfo::kind")]
    pub kind: String,
    /// Standard metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The version of the agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The Pod that the agent runs in.
    #[serde(default)]
    pub pod_ref: ObjectReference,
    /// The Node that it runs on.
    #[serde(default)]
    pub node_ref: ObjectReference,
    /// The Pod CIDRs of the Node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_subnets: Vec<String>,
    /// Open vSwitch on the Node.
    #[serde(default)]
    pub ovs_info: OvsInfo,
    /// What the agent enforces.
    #[serde(default)]
    pub network_policy_controller_info: NetworkPolicyControllerInfo,
    /// How many Pods are connected through the agent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub local_pod_num: i32,
    /// What works.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_conditions: Vec<AgentCondition>,
    /// The port of the agent's API.
    #[serde(default, rename = "apiPort", skip_serializing_if = "is_zero")]
    pub api_port: i32,
    /// The certificates, PEM, that vouch for the agent's API.
    #[serde(default, rename = "apiCABundle", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub api_ca_bundle: Option<ByteString>,
    /// The ports that NodePortLocal may use, as `61000-62000`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub node_port_local_port_range: String,
    /// How the Node is connected.
    #[serde(default)]
    pub network_info: NetworkInfo,
}

cluster_object!(AntreaAgentInfo, "AntreaAgentInfo", "antreaagentinfos", "v1beta1");

impl Default for AntreaAgentInfo {
    fn default() -> Self {
        Self {
            api_version: Self::api_version(),
            kind: Self::kind(),
            metadata: ObjectMeta::default(),
            version: String::new(),
            pod_ref: ObjectReference::default(),
            node_ref: ObjectReference::default(),
            node_subnets: Vec::new(),
            ovs_info: OvsInfo::default(),
            network_policy_controller_info: NetworkPolicyControllerInfo::default(),
            local_pod_num: 0,
            agent_conditions: Vec::new(),
            api_port: 0,
            api_ca_bundle: None,
            node_port_local_port_range: String::new(),
            network_info: NetworkInfo::default(),
        }
    }
}

/// Open vSwitch on a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OvsInfo {
    /// The version of ovs-vswitchd.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The bridge of the Pods.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bridge_name: String,
    /// How many flows each table holds, by the table's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flow_table: BTreeMap<String, i32>,
}

/// How a Node is connected to the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkInfo {
    /// The interface that traffic to other Nodes leaves by.
    #[serde(default, rename = "transportInterface", skip_serializing_if = "String::is_empty")]
    pub transport_interface: String,
    /// Its MTU, in bytes.
    #[serde(default, rename = "transportInterfaceMTU", skip_serializing_if = "is_zero")]
    pub transport_interface_mtu: i32,
    /// The MTU of Pods, in bytes.
    #[serde(default, rename = "podMTU", skip_serializing_if = "is_zero")]
    pub pod_mtu: i32,
    /// The addresses of the transport interface with the lengths of their prefixes, as `172.18.2.11/16`.
    #[serde(default, rename = "transportInterfaceIPs", skip_serializing_if = "Vec::is_empty")]
    pub transport_interface_ips: Vec<String>,
}

/// One thing of an agent that works or does not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCondition {
    /// What.
    #[serde(rename = "type")]
    pub condition_type: AgentConditionType,
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

/// What an agent tells about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum AgentConditionType {
    /// The agent runs. Always true: an agent that does not run writes nothing.
    AgentHealthy,
    /// It is connected to antrea-controller.
    ControllerConnectionUp,
    /// It is connected to ovsdb-server.
    #[serde(rename = "OVSDBConnectionUp")]
    OvsdbConnectionUp,
    /// It is connected to ovs-vswitchd.
    OpenflowConnectionUp,
}
