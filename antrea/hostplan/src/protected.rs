//! Addresses and networks whose traffic the bridge never gets, whatever Services ask for.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use antrea_types::{InterfaceName, IpFamily};
use ipnet::IpNet;

use crate::node_port_addresses::{IPVS_INTERFACE, is_link_local, node_port_addresses};
use crate::{InterfaceAddresses, ShortestPrefix};

/// What a Node's kernel has beside what the agent gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnNetwork {
    /// The Node's addresses, without those of the gateway.
    pub addresses: BTreeSet<IpAddr>,
    /// The networks that its interfaces are connected to.
    pub connected: BTreeSet<IpNet>,
    /// The gateways of its routes, the default routes' among them.
    pub next_hops: BTreeSet<IpAddr>,
}

/// What no route of Services may lead over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protected {
    /// The addresses of all Nodes, as Kubernetes has them.
    pub nodes: BTreeSet<IpAddr>,
    /// Where tunnels to other Nodes go. External IPs alone stay away from them: an agent writes its own, and must not take
    /// ClusterIPs from all Nodes.
    pub transport: BTreeSet<IpAddr>,
    /// The addresses of the API server.
    pub api_servers: BTreeSet<IpAddr>,
    /// The Pod CIDRs of all Nodes.
    pub pod_cidrs: BTreeSet<IpNet>,
    /// This Node's own.
    pub own: OwnNetwork,
}

/// Why a network or an address gets no route to the bridge. Prints as a sentence about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// It is wider than any network of Services may be.
    Wide(ShortestPrefix),
    /// A Node has the address.
    Node(IpAddr),
    /// The API server has it.
    ApiServer(IpAddr),
    /// A route of this Node leads to it.
    NextHop(IpAddr),
    /// Pods are there.
    Pods(IpNet),
    /// This Node is connected to it.
    Connected(IpNet),
    /// It is never a Service's: loopback, link-local, multicast or unspecified.
    Reserved(IpNet),
}

impl OwnNetwork {
    /// What these interfaces and next hops are, without the gateway of Pods. The addresses that IPVS has are ClusterIPs.
    pub fn of(
        interfaces: &[InterfaceAddresses],
        gateway: &InterfaceName,
        next_hops: BTreeSet<IpAddr>,
    ) -> Self {
        let others = interfaces
            .iter()
            .filter(|interface| interface.name != *gateway && interface.name.as_str() != IPVS_INTERFACE);
        let networks = others.flat_map(|interface| &interface.addresses).map(IpNet::trunc);
        // An address with its full length is connected to nothing. Caches of names have ClusterIPs so.
        let connected = networks.filter(|net| {
            net.prefix_len() < net.max_prefix_len()
                && !is_link_local(&net.addr())
                && !net.addr().is_loopback()
        });
        Self {
            addresses: node_port_addresses(interfaces, gateway, &[]),
            connected: connected.collect(),
            next_hops,
        }
    }
}

impl Protected {
    /// Why a network of ClusterIPs gets no route. A network that is a part of one that the Node is connected to may get
    /// one: who gave it to Services took it from there.
    pub fn obstacle(&self, net: &IpNet) -> Option<Obstacle> {
        let shortest = ShortestPrefix::of(IpFamily::of_net(net));
        let wide = (net.prefix_len() < shortest.0).then_some(Obstacle::Wide(shortest));
        let within = |other: &&IpNet| net.contains(*other);
        let overlaps = |other: &&IpNet| net.contains(*other) || other.contains(net);
        wide.or_else(|| first_in(&self.nodes, net).map(Obstacle::Node))
            .or_else(|| first_in(&self.api_servers, net).map(Obstacle::ApiServer))
            .or_else(|| first_in(&self.own.next_hops, net).map(Obstacle::NextHop))
            .or_else(|| self.pod_cidrs.iter().find(overlaps).copied().map(Obstacle::Pods))
            .or_else(|| self.own.connected.iter().find(within).copied().map(Obstacle::Connected))
            .or_else(|| reserved().into_iter().find(|other| overlaps(&other)).map(Obstacle::Reserved))
    }

    /// Why an external IP gets no route. It may be in a network that the Node is connected to, as those of load balancers
    /// often are.
    pub fn obstacle_of_address(&self, ip: &IpAddr) -> Option<Obstacle> {
        let of_nodes = [&self.nodes, &self.transport, &self.own.addresses];
        let is_node = of_nodes.into_iter().any(|addresses| addresses.contains(ip));
        let holds = |net: &&IpNet| net.contains(ip);
        is_node
            .then_some(Obstacle::Node(*ip))
            .or_else(|| self.api_servers.get(ip).copied().map(Obstacle::ApiServer))
            .or_else(|| self.own.next_hops.get(ip).copied().map(Obstacle::NextHop))
            .or_else(|| self.pod_cidrs.iter().find(holds).copied().map(Obstacle::Pods))
            .or_else(|| reserved().into_iter().find(|net| holds(&net)).map(Obstacle::Reserved))
    }
}

fn first_in(addresses: &BTreeSet<IpAddr>, net: &IpNet) -> Option<IpAddr> {
    addresses.range(net.network()..=net.broadcast()).next().copied()
}

/// Networks that packets of Services are never in (RFC 6890, RFC 5771, RFC 4291). Some clouds have Services in 240.0.0.0/4.
fn reserved() -> [IpNet; 9] {
    let v4 = |a, b, len| IpNet::new_assert(IpAddr::from([a, b, 0, 0]), len);
    let v6 = |first: u16, last, len| IpNet::new_assert(IpAddr::from([first, 0, 0, 0, 0, 0, 0, last]), len);
    [
        v4(0, 0, 8),
        v4(127, 0, 8),
        v4(169, 254, 16),
        v4(224, 0, 4),
        IpNet::from(IpAddr::from([255; 4])),
        v6(0, 0, 128),
        v6(0, 1, 128),
        v6(0xfe80, 0, 10),
        v6(0xff00, 0, 8),
    ]
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wide(ShortestPrefix(length)) => write!(f, "it is wider than /{length}"),
            Self::Node(ip) => write!(f, "{ip} is the address of a Node"),
            Self::ApiServer(ip) => write!(f, "{ip} is an address of the API server"),
            Self::NextHop(ip) => write!(f, "a route of this Node leads to {ip}"),
            Self::Pods(net) => write!(f, "{net} is a Pod CIDR"),
            Self::Connected(net) => write!(f, "this Node is connected to {net}"),
            Self::Reserved(net) => write!(f, "{net} is not for Services"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set<T: std::str::FromStr<Err: fmt::Debug> + Ord>(texts: &str) -> BTreeSet<T> {
        texts.split_whitespace().map(|text| text.parse().unwrap()).collect()
    }

    fn protected() -> Protected {
        Protected {
            nodes: set("172.18.0.11 172.18.1.12 192.0.2.12 fd00:18::11"),
            transport: set("10.98.0.1 198.51.100.12"),
            api_servers: set("10.100.0.5"),
            pod_cidrs: set("10.11.0.0/24 fd00:11::/64"),
            own: OwnNetwork {
                addresses: set("172.18.0.11 10.97.0.10 127.0.0.1"),
                connected: set("172.18.0.0/16 10.0.0.0/9"),
                next_hops: set("172.18.0.1 203.0.113.1"),
            },
        }
    }

    #[track_caller]
    fn check(net: &str, expect: &str) {
        let obstacle = protected().obstacle(&net.parse().unwrap());
        assert_eq!(obstacle.map(|obstacle| obstacle.to_string()).unwrap_or_default(), expect, "{net}");
    }

    #[test]
    fn a_network_of_its_own_gets_a_route() {
        for net in ["10.96.0.0/12", "192.168.100.0/24", "11.0.0.0/8", "fd00:96::/112", "fd00:96::/64"] {
            let expect =
                if net == "10.96.0.0/12" { "10.100.0.5 is an address of the API server" } else { "" };
            check(net, expect);
        }
        // Whatever an agent says of its Node.
        check("10.98.0.0/16", "");
        // A part of what the Node is connected to, with an address that the Node has for itself alone.
        check("10.97.0.0/16", "");
    }

    #[test]
    fn a_network_that_is_wide_or_somebody_elses_gets_none() {
        check("0.0.0.0/0", "it is wider than /8");
        check("10.0.0.0/7", "it is wider than /8");
        check("fd00::/63", "it is wider than /64");
        check("172.18.1.0/24", "172.18.1.12 is the address of a Node");
        check("192.0.2.12/32", "192.0.2.12 is the address of a Node");
        check("fd00:18::/112", "fd00:18::11 is the address of a Node");
        check("203.0.113.0/24", "a route of this Node leads to 203.0.113.1");
        check("10.11.0.0/16", "10.11.0.0/24 is a Pod CIDR");
        check("10.11.0.128/25", "10.11.0.0/24 is a Pod CIDR");
        check("169.254.169.0/24", "169.254.0.0/16 is not for Services");
        check("fe80::/64", "fe80::/10 is not for Services");
    }

    #[test]
    fn a_network_over_one_that_the_node_is_connected_to_gets_none() {
        let own = OwnNetwork { connected: set("198.51.100.0/24"), ..OwnNetwork::default() };
        let protected = Protected { own, ..Protected::default() };
        let obstacle = |net: &str| protected.obstacle(&net.parse().unwrap());
        assert_eq!(obstacle("198.51.0.0/16"), Some(Obstacle::Connected("198.51.100.0/24".parse().unwrap())));
        assert!(obstacle("198.51.100.0/24").is_some());
        assert_eq!(obstacle("198.51.100.64/26"), None);
    }

    #[test]
    fn an_external_ip_is_nobody_elses_address() {
        let check = |ip: &str, expect: &str| {
            let obstacle = protected().obstacle_of_address(&ip.parse().unwrap());
            assert_eq!(obstacle.map(|obstacle| obstacle.to_string()).unwrap_or_default(), expect, "{ip}");
        };
        check("192.0.2.80", "");
        check("172.18.0.240", "");
        check("172.18.1.12", "172.18.1.12 is the address of a Node");
        check("10.97.0.10", "10.97.0.10 is the address of a Node");
        check("198.51.100.12", "198.51.100.12 is the address of a Node");
        check("10.100.0.5", "10.100.0.5 is an address of the API server");
        check("172.18.0.1", "a route of this Node leads to 172.18.0.1");
        check("10.11.0.7", "10.11.0.0/24 is a Pod CIDR");
        check("169.254.169.254", "169.254.0.0/16 is not for Services");
        check("255.255.255.255", "255.255.255.255/32 is not for Services");
        check("240.0.0.1", "");
        check("::", "::/128 is not for Services");
    }

    #[test]
    fn a_node_is_connected_to_the_networks_of_its_interfaces() {
        let interfaces = [
            ("lo", "127.0.0.1/8 ::1/128"),
            ("eth0", "172.18.0.11/16 fd00:18::11/64 fe80::1/64"),
            ("eth1", "203.0.113.7/32 169.254.7.7/16"),
            ("antrea-gw0", "10.11.0.1/24 fe80::2/64"),
            ("nodelocaldns", "10.96.0.10/32"),
            ("kube-ipvs0", "10.96.0.1/32"),
        ]
        .map(|(name, addresses)| InterfaceAddresses {
            name: name.parse().unwrap(),
            addresses: addresses.split(' ').map(|text| text.parse().unwrap()).collect(),
        });
        let own = OwnNetwork::of(&interfaces, &"antrea-gw0".parse().unwrap(), set("172.18.0.1"));
        assert_eq!(own.connected, set("172.18.0.0/16 fd00:18::/64"));
        assert_eq!(own.addresses, set("127.0.0.1 ::1 172.18.0.11 fd00:18::11 203.0.113.7 10.96.0.10"));
        assert_eq!(own.next_hops, set("172.18.0.1"));
    }
}
