//! What the rules of a Node depend on, and what they are part of.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use antrea_types::{DualStack, InterfaceName, IpFamily, TunnelTraffic};
use ipnet::IpNet;

use crate::iptables::{Ruleset, SourcePorts};
use crate::{IpSet, ServiceTraffic, Sysctl};

/// What becomes of the source of packets from Pods to the outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalMasquerade {
    /// The network knows the way back to Pods (`noSNAT`).
    Off,
    /// It becomes the Node's address.
    On(SourcePorts),
}

/// What the rules of a Node depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// The interface between the Node and its Pods.
    pub gateway: InterfaceName,
    /// The Node's own Pod CIDRs. A family without one gets no rules but for the tunnel.
    pub own_pod_cidrs: DualStack<IpNet>,
    /// The Pod CIDRs of all Nodes, this one included.
    pub pod_cidrs: Vec<IpNet>,
    /// How traffic between Nodes is encapsulated; none where it is not.
    pub tunnel: Option<TunnelTraffic>,
    /// Where such traffic may come from: the addresses of the other Nodes, and of Gateways of other clusters.
    pub far_ends: BTreeSet<IpAddr>,
    /// The port of the agent's API server.
    pub agent_api_port: u16,
    /// The port of the cluster of agents (`clusterPort`), where something needs that cluster.
    pub membership_port: Option<u16>,
    /// What becomes of the source of packets from Pods to the outside.
    pub external_masquerade: ExternalMasquerade,
    /// Who serves Services to the Node and to the outside.
    pub services: ServiceTraffic,
}

/// All that a Node's kernel must have beside links, addresses and routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPlan {
    /// IP sets, which the rules refer to and which therefore come first.
    pub ip_sets: Vec<IpSet>,
    /// The names of sets that shall not be there, and that no rule refers to.
    pub unwanted_ip_sets: Vec<&'static str>,
    /// iptables of each family that Pods have, or that GRE needs.
    pub rulesets: DualStack<Ruleset>,
    /// iptables of the families that are not used: they keep strangers from the tunnel, and nothing depends on them.
    pub tunnel_drops: DualStack<Ruleset>,
    /// Kernel parameters.
    pub sysctls: Vec<Sysctl>,
}

impl fmt::Display for HostPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for sysctl in &self.sysctls {
            writeln!(f, "{sysctl}")?;
        }
        for set in &self.ip_sets {
            write!(f, "{set}")?;
        }
        for family in IpFamily::ALL {
            if let Some(ruleset) = self.rulesets.get(family).or_else(|| self.tunnel_drops.get(family)) {
                write!(f, "# {family}\n{ruleset}")?;
            }
        }
        Ok(())
    }
}
