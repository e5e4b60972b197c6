//! AntreaAgentInfo: what the agent of a Node tells about itself, every minute.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConditionStatus, NetworkPolicyControllerInfo};
use crate::crd::is_zero;
use crate::object::object;

object!(
    /// The state of the agent on a Node; the object has the name of the Node. The controller creates and deletes it with
    /// the Node, the agent keeps it up to date.
    Cluster AntreaAgentInfo in "crd.antrea.io", "v1beta1", "antreaagentinfos" {
        /// The version of the agent.
        #[serde(skip_serializing_if = "String::is_empty")]
        version: String,
        /// The Pod that the agent runs in.
        pod_ref: ObjectReference,
        /// The Node that it runs on.
        node_ref: ObjectReference,
        /// The Pod CIDRs of the Node.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        node_subnets: Vec<String>,
        /// Open vSwitch on the Node.
        ovs_info: OvsInfo,
        /// What the agent enforces.
        network_policy_controller_info: NetworkPolicyControllerInfo,
        /// How many Pods are connected through the agent.
        #[serde(skip_serializing_if = "is_zero")]
        local_pod_num: i32,
        /// What works.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        agent_conditions: Vec<AgentCondition>,
        /// The port of the agent's API.
        #[serde(rename = "apiPort", skip_serializing_if = "is_zero")]
        api_port: i32,
        /// The certificates, PEM, that vouch for the agent's API.
        #[serde(rename = "apiCABundle", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<String>")]
        api_ca_bundle: Option<ByteString>,
        /// The ports that NodePortLocal may use, as `61000-62000`.
        #[serde(skip_serializing_if = "String::is_empty")]
        node_port_local_port_range: String,
        /// How the Node is connected.
        network_info: NetworkInfo,
    }
);

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
