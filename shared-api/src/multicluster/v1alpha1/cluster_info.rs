//! What clusters tell each other about themselves.

use std::fmt;

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
    #[schemars(schema_with = "schema::named_cidrs")]
    pub service_cidrs: Vec<String>,
    /// Where its Gateways are; none when there is none.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 8))]
    pub gateway_infos: Vec<GatewayInfo>,
    /// The networks of its Pods that other clusters may reach.
    #[serde(rename = "podCIDRs", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::named_cidrs")]
    pub pod_cidrs: Vec<String>,
    /// The tunnel of its Gateways; missing where their agents do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<TunnelInfo>,
    /// For encryption between Gateways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire_guard: Option<WireGuardInfo>,
}

/// How many Gateways a cluster may name.
pub const MOST_GATEWAYS: usize = 8;

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

/// The tunnel that carries packets between Nodes, and between Gateways. Those of all clusters need the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TunnelInfo {
    /// The protocol.
    #[serde(rename = "type", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::tunnel_type")]
    pub tunnel_type: String,
    /// The UDP port; missing where the protocol has none.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(range(min = 0, max = 65535))]
    pub port: i32,
}

impl TunnelInfo {
    /// The protocols.
    pub const TYPES: [&'static str; 3] = ["geneve", "vxlan", "gre"];

    /// Whether packets of one do not get out of the other. What one does not say is no difference.
    pub fn differs_from(&self, other: &Self) -> bool {
        let say_type = !self.tunnel_type.is_empty() && !other.tunnel_type.is_empty();
        let say_port = self.port != 0 && other.port != 0;
        say_type && self.tunnel_type != other.tunnel_type || say_port && self.port != other.port
    }
}

impl fmt::Display for TunnelInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tunnel_type)?;
        if self.port == 0 { Ok(()) } else { write!(f, " on port {}", self.port) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tunnel(tunnel_type: &str, port: i32) -> TunnelInfo {
        TunnelInfo { tunnel_type: tunnel_type.to_owned(), port }
    }

    #[test]
    fn tunnels_differ_in_what_both_say() {
        let geneve = tunnel("geneve", 6081);
        assert!(geneve.differs_from(&tunnel("vxlan", 4789)));
        assert!(geneve.differs_from(&tunnel("geneve", 6082)));
        assert!(geneve.differs_from(&tunnel("gre", 0)));
        for other in [geneve.clone(), tunnel("geneve", 0), tunnel("", 0)] {
            assert!(!geneve.differs_from(&other) && !other.differs_from(&geneve), "{other:?}");
        }
        assert_eq!(geneve.to_string(), "geneve on port 6081");
        assert_eq!(tunnel("gre", 0).to_string(), "gre");
    }
}
