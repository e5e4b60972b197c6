//! What clusters tell each other about themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::is_default;
use crate::schema;

/// Networks and Gateways of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterInfo {
    /// The cluster.
    #[serde(rename = "clusterID", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_id")]
    pub cluster_id: String,
    /// The network of its ClusterIPs, IPv4.
    #[serde(rename = "serviceCIDR", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_cidr")]
    pub service_cidr: String,
    /// All networks of its ClusterIPs, of both families; an addition to upstream's. Missing means `serviceCIDR` alone.
    #[serde(rename = "serviceCIDRs", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::cidrs")]
    pub service_cidrs: Vec<String>,
    /// Where its Gateways are; none when there is none.
    #[serde(skip_serializing_if = "is_default")]
    pub gateway_infos: Vec<GatewayInfo>,
    /// The networks of its Pods that other clusters may reach.
    #[serde(rename = "podCIDRs", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::cidrs")]
    pub pod_cidrs: Vec<String>,
    /// For encryption between Gateways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire_guard: Option<WireGuardInfo>,
}

/// Where a Gateway is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewayInfo {
    /// The address that tunnels from other clusters go to.
    #[serde(rename = "gatewayIP", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::ip")]
    pub gateway_ip: String,
}

/// WireGuard of a Gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WireGuardInfo {
    /// The public key, 32 bytes in base64.
    #[serde(skip_serializing_if = "is_default")]
    pub public_key: String,
}
