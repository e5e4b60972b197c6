//! Who serves Services to the Node itself and to the outside, and what of the Services the kernel has to know then.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use antrea_types::{IpFamily, Protocol};
use ipnet::IpNet;

use crate::{ClusterIpNetworks, IpSet, IpSetContent, IpSetEntry, IpSetKind, Obstacle, Protected};

/// Who serves Services to the Node's own processes, and NodePorts, LoadBalancer addresses and external IPs to the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceTraffic {
    /// kube-proxy, or nobody: the kernel gets nothing from Antrea.
    ByHost,
    /// The agent (`proxyAll`): the kernel hands the packets to the bridge.
    ByAgent(AgentServices),
}

/// What the kernel hands to the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentServices {
    /// The addresses of the Node that have NodePorts, of both families.
    pub node_port_addresses: BTreeSet<IpAddr>,
    /// The port of the health check server, where there is one.
    pub health_check_port: Option<u16>,
    /// The Services; `None` as long as not all of them are known: what an earlier agent left for them stays until then.
    pub services: Option<HostServices>,
}

/// All Services, as far as the kernel has to know them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostServices {
    /// The networks that ClusterIPs are taken from, as far as the API server tells of them.
    pub service_cidrs: BTreeSet<IpNet>,
    /// Every ClusterIP.
    pub cluster_ips: Arc<BTreeSet<IpAddr>>,
    /// Every NodePort.
    pub node_ports: BTreeSet<(Protocol, u16)>,
    /// LoadBalancer addresses and external IPs. All traffic to them goes to the bridge.
    pub external_ips: BTreeSet<IpAddr>,
    /// The endpoints of the Service `kubernetes`, which are no Service's to have.
    pub api_servers: BTreeSet<IpAddr>,
}

/// The name of the set of addresses and ports of NodePorts.
pub(crate) const fn node_port_set(family: IpFamily) -> &'static str {
    match family {
        IpFamily::V4 => "ANTREA-NODEPORT-IP",
        IpFamily::V6 => "ANTREA-NODEPORT-IP6",
    }
}

/// The name of the set of external IPs.
pub(crate) const fn external_ip_set(family: IpFamily) -> &'static str {
    match family {
        IpFamily::V4 => "ANTREA-EXTERNAL-IP",
        IpFamily::V6 => "ANTREA-EXTERNAL-IP6",
    }
}

/// The sets that only an agent with `proxyAll` has.
pub(crate) fn service_sets() -> [&'static str; 4] {
    let [[ports_v4, ips_v4], [ports_v6, ips_v6]] =
        IpFamily::ALL.map(|family| [node_port_set(family), external_ip_set(family)]);
    [ports_v4, ips_v4, ports_v6, ips_v6]
}

impl ServiceTraffic {
    /// What the agent serves.
    pub(crate) const fn agent(&self) -> Option<&AgentServices> {
        match self {
            Self::ByHost => None,
            Self::ByAgent(agent) => Some(agent),
        }
    }
}

impl HostServices {
    /// Takes what is not theirs from the external IPs, and returns it: with all traffic to a Node, the bridge would get
    /// the tunnels to it and the Kubernetes API.
    pub fn leave_out(&mut self, protected: &Protected) -> BTreeMap<IpAddr, Obstacle> {
        let obstacle = |ip: &IpAddr| Some((*ip, protected.obstacle_of_address(ip)?));
        let left_out: BTreeMap<IpAddr, Obstacle> = self.external_ips.iter().filter_map(obstacle).collect();
        self.external_ips.retain(|ip| !left_out.contains_key(ip));
        left_out
    }

    /// The networks of ClusterIPs that get routes.
    pub fn cluster_ip_networks(&self, protected: &Protected) -> ClusterIpNetworks {
        ClusterIpNetworks::of(&self.service_cidrs, &self.cluster_ips, protected)
    }
}

impl AgentServices {
    /// The sets of both families, also where a family is not in use, as upstream has them.
    pub(crate) fn ip_sets(&self) -> impl Iterator<Item = IpSet> {
        IpFamily::ALL.into_iter().flat_map(|family| [self.node_ports(family), self.external_ips(family)])
    }

    fn node_ports(&self, family: IpFamily) -> IpSet {
        let addresses = self.node_port_addresses.iter().filter(move |ip| IpFamily::of(ip) == family);
        let entries = |services: &HostServices| {
            let of_address = |ip: &IpAddr| {
                let ip = *ip;
                services
                    .node_ports
                    .iter()
                    .map(move |(protocol, port)| IpSetEntry::IpPort(ip, *protocol, *port))
            };
            addresses.flat_map(of_address).collect()
        };
        self.set(node_port_set(family), IpSetKind::HashIpPort, family, entries)
    }

    fn external_ips(&self, family: IpFamily) -> IpSet {
        let entries = |services: &HostServices| {
            let of_family = services.external_ips.iter().filter(|ip| IpFamily::of(ip) == family);
            of_family.map(|ip| IpSetEntry::Ip(*ip)).collect()
        };
        self.set(external_ip_set(family), IpSetKind::HashIp, family, entries)
    }

    fn set(
        &self,
        name: &str,
        kind: IpSetKind,
        family: IpFamily,
        entries: impl FnOnce(&HostServices) -> BTreeSet<IpSetEntry>,
    ) -> IpSet {
        let content = match &self.services {
            Some(services) => IpSetContent::Exactly(entries(services)),
            None => IpSetContent::AsItIs,
        };
        IpSet { name: name.to_owned(), kind, family, content }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_ips_that_are_addresses_of_nodes_are_left_out() {
        let ips =
            |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<BTreeSet<IpAddr>>();
        let mut services =
            HostServices { external_ips: ips(&["192.0.2.80", "172.18.0.12"]), ..HostServices::default() };
        let protected = Protected { nodes: ips(&["172.18.0.11", "172.18.0.12"]), ..Protected::default() };
        let left_out: Vec<IpAddr> = services.leave_out(&protected).into_keys().collect();
        assert_eq!(left_out, ["172.18.0.12".parse::<IpAddr>().unwrap()]);
        assert_eq!(services.external_ips, ips(&["192.0.2.80"]));
    }
}
