//! Gateway: the Node that connects its cluster with the others.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TunnelInfo, WireGuardInfo};
use crate::object::{is_default, object};
use crate::schema;
use crate::word::word;

object!(
    /// The Gateway of the cluster. It has the name of the Node. The member's controller writes all but the WireGuard
    /// key and the status, which are the agent's of the Node.
    Namespaced Gateway in "multicluster.crd.antrea.io", "v1alpha1", "gateways" {
        /// The address that tunnels of other clusters go to.
        #[serde(rename = "gatewayIP", skip_serializing_if = "is_default")]
        #[schemars(schema_with = "schema::ip")]
        gateway_ip: String,
        /// The address that tunnels of this cluster's Nodes go to.
        #[serde(rename = "internalIP", skip_serializing_if = "is_default")]
        #[schemars(schema_with = "schema::ip")]
        internal_ip: String,
        /// The network of the cluster's ClusterIPs, IPv4.
        #[serde(rename = "serviceCIDR", skip_serializing_if = "is_default")]
        #[schemars(schema_with = "schema::optional_cidr")]
        service_cidr: String,
        /// For encryption between Gateways.
        #[serde(skip_serializing_if = "Option::is_none")]
        wire_guard: Option<WireGuardInfo>,
        /// What other clusters may open connections to. An addition to upstream's: where it is missing, that is
        /// everything, as far as policies let them.
        #[serde(skip_serializing_if = "Option::is_none")]
        exported: Option<Exported>,
        /// What the agent of the Node finds; upstream's agents find nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<GatewayStatus>,
    }
);

/// How many Gateways of other clusters one may report of.
pub const MOST_PROBED: usize = 4096;

/// What other clusters may open connections to: what is listed, and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Exported {
    /// That there is a list, also where it is empty. Agents take a word that they do not know for this one.
    pub mode: ExportedMode,
    /// Where exported Services are reached: ClusterIPs and Pods, or networks that cover them where they are very many.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::exported_cidrs")]
    pub addresses: Vec<String>,
    /// The networks of the cluster's Pods, for agents that connect Pods with Pods.
    #[serde(rename = "podCIDRs", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::pod_cidrs")]
    pub pod_cidrs: Vec<String>,
}

word!(
    /// How a Gateway says what is exported.
    ExportedMode {
        /// By a list.
        Listed = "Listed",
    }
);

/// What the agent of the Gateway's Node finds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewayStatus {
    /// Who answers through the tunnel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<GatewayProbe>,
    /// The tunnel that Gateways of other clusters have to have as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<TunnelInfo>,
}

/// Who answered the agent's last probes through the tunnel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewayProbe {
    /// When the probes ended, by the Node's clock. Others compare it with what it was, not with their own clock: an
    /// agent that still works changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat_time: Option<MicroTime>,
    /// The Gateways of other clusters, in the order of cluster IDs and addresses.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = MOST_PROBED))]
    pub peers: Vec<ProbedPeer>,
    /// The Nodes of this cluster.
    pub nodes: ProbedNodes,
}

/// A Gateway of another cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProbedPeer {
    /// The cluster.
    #[serde(rename = "clusterID")]
    #[schemars(schema_with = "schema::dns_label")]
    pub cluster_id: String,
    /// The address that was probed.
    #[serde(rename = "gatewayIP")]
    #[schemars(schema_with = "schema::ip")]
    pub gateway_ip: String,
    /// Whether it answered.
    pub reached: bool,
}

/// The Nodes of the Gateway's own cluster, but its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProbedNodes {
    /// How many were probed.
    #[schemars(range(min = 0))]
    pub probed: i32,
    /// How many answered.
    #[schemars(range(min = 0))]
    pub reached: i32,
    /// The names of those that did not, sorted; the first ten.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 10))]
    pub unreached: Vec<String>,
}

impl GatewayProbe {
    /// Whether the Gateway is cut off: it has neighbours, and reaches neither a peer nor a Node. One lost peer says
    /// nothing of the Gateway.
    pub fn is_cut_off(&self) -> bool {
        let neighbours = !self.peers.is_empty() || self.nodes.probed > 0;
        neighbours && !self.reaches_somebody()
    }

    /// Whether a peer or a Node answers. A Gateway that neither does this nor is cut off knows of no neighbours, or not for
    /// long enough.
    pub fn reaches_somebody(&self) -> bool {
        self.nodes.reached > 0 || self.peers.iter().any(|peer| peer.reached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(peers: &[bool], (reached, probed): (i32, i32), cut_off: bool) {
        let peers =
            peers.iter().map(|reached| ProbedPeer { reached: *reached, ..ProbedPeer::default() }).collect();
        let nodes = ProbedNodes { probed, reached, unreached: Vec::new() };
        let probe = GatewayProbe { heartbeat_time: None, peers, nodes };
        assert_eq!(probe.is_cut_off(), cut_off);
        assert!(!(cut_off && probe.reaches_somebody()));
    }

    #[test]
    fn a_gateway_that_reaches_nobody_is_cut_off() {
        check(&[false, false], (0, 3), true);
        check(&[false], (0, 0), true);
        check(&[], (0, 1), true);
    }

    #[test]
    fn a_gateway_that_reaches_anybody_is_not() {
        check(&[false, true], (0, 3), false);
        check(&[false, false], (1, 3), false);
    }

    #[test]
    fn a_gateway_alone_is_not_cut_off() {
        check(&[], (0, 0), false);
        assert!(!GatewayProbe::default().reaches_somebody());
    }
}
