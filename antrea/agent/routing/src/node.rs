//! Nodes: this one, and what Kubernetes says of the others.

use std::collections::BTreeSet;
use std::net::IpAddr;

use antrea_hostplan::Transport;
use antrea_types::{DualStack, InterfaceName, IpFamily, NodeName};
use ipnet::IpNet;

use crate::gateway::gateway_ip;
use crate::mode::TrafficMode;
use crate::problem::Problem;
use crate::tunnel::TunnelProtocol;

/// This Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnNode {
    /// Its name.
    pub name: NodeName,
    /// The networks that its Pods get their addresses from.
    pub pod_cidrs: DualStack<IpNet>,
    /// The interface between the Node and its Pods.
    pub gateway: InterfaceName,
    /// The interface and the addresses that peers are reached by.
    pub transport: Transport,
    /// How peers are reached.
    pub mode: TrafficMode,
    /// The tunnel, where one is used.
    pub tunnel: TunnelProtocol,
}

/// What Kubernetes says of a Node, as it stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRecord {
    /// `metadata.name`.
    pub name: NodeName,
    /// `metadata.creationTimestamp`, in seconds since 1970. Of two Nodes with one network the older has it.
    pub created: i64,
    /// `spec.podCIDRs`, or `spec.podCIDR` where that is all there is.
    pub pod_cidrs: Vec<String>,
    /// The Node's addresses in `status.addresses` that it is reached by.
    pub addresses: DualStack<IpAddr>,
    /// All of `status.addresses` that are IP addresses, whatever their type.
    pub all_addresses: BTreeSet<IpAddr>,
    /// The label `topology.kubernetes.io/zone`.
    pub zone: Option<String>,
    /// Whether load balancers may send it new connections.
    pub eligibility: Eligibility,
    /// The annotation `node.antrea.io/transport-addresses`: what to use instead of `addresses`, separated by commas.
    pub transport_addresses: Option<String>,
    /// The annotation `node.antrea.io/tunnel-sources`: where else it sends through the tunnel from, separated by commas.
    pub tunnel_sources: Option<String>,
}

/// How many addresses of a Node peers accept besides those in `node.antrea.io/tunnel-sources`. A Node's status can list any number.
const MAX_KNOWN_SOURCES: usize = 12;

/// How many more its agent may add in `node.antrea.io/tunnel-sources`.
pub const MAX_TUNNEL_SOURCES: usize = 4;

/// Whether load balancers may send new connections to a Node (KEP-3836).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eligibility {
    /// They may. So it is until Nodes are known.
    #[default]
    Eligible,
    /// The Node is about to go, or has been removed from the cluster: connections that it has may end first.
    Leaving,
}

/// What Services depend on of the Nodes of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// The zone of this Node.
    pub zone: Option<String>,
    /// Whether load balancers may send new connections to this Node.
    pub eligibility: Eligibility,
    /// The addresses of all Nodes.
    pub addresses: BTreeSet<IpAddr>,
}

impl NodeFacts {
    /// The facts about `nodes` as the Node `own` needs them.
    pub fn of<'a>(own: &NodeName, nodes: impl IntoIterator<Item = &'a NodeRecord>) -> Self {
        // Until it is found among them.
        let mut facts = Self { eligibility: Eligibility::Leaving, ..Self::default() };
        for node in nodes {
            facts.addresses.extend(node.addresses.iter());
            if node.name == *own {
                facts.zone.clone_from(&node.zone);
                facts.eligibility = node.eligibility;
            }
        }
        facts
    }
}

/// A Pod network with room for a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PodNetwork {
    pub(crate) cidr: IpNet,
    pub(crate) gateway_ip: IpAddr,
}

/// A Node's Pod networks and where to send packets for them; what could not be read is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadNode {
    pub(crate) pod_networks: DualStack<PodNetwork>,
    pub(crate) transport: DualStack<IpAddr>,
}

impl OwnNode {
    /// Whether a record of this Node has the networks that it was set up with. Kubernetes never changes them: others are
    /// those of another Node of the same name, and what stands here is wrong for it.
    pub fn has_networks_of(&self, record: &NodeRecord) -> bool {
        let networks = record.pod_cidrs.iter().filter_map(|text| text.parse::<IpNet>().ok());
        networks.collect::<DualStack<IpNet>>() == self.pod_cidrs
    }
}

impl NodeRecord {
    /// Of two Nodes with one network the one that comes first by this has it.
    pub(crate) fn seniority(&self) -> (i64, &NodeName) {
        (self.created, &self.name)
    }

    /// The addresses in its status.
    pub(crate) fn status_addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().chain(&self.all_addresses).copied()
    }

    /// Where peers let it send through the tunnel from without being told by its agent; what is no address is left out.
    pub(crate) fn known_far_ends(&self) -> BTreeSet<IpAddr> {
        let transport = self.transport_addresses.iter().flat_map(|list| list.split(','));
        let transport = transport.filter_map(|text| read_address(text).ok());
        first(MAX_KNOWN_SOURCES, transport.chain(self.status_addresses()))
    }

    /// Where peers let it send through the tunnel from, none of which is an address of this Node.
    pub(crate) fn far_ends(&self, own: &OwnNode) -> BTreeSet<IpAddr> {
        let is_own = |address: &IpAddr| own.transport.addresses.iter().any(|net| net.addr() == *address);
        let sources = self.tunnel_sources.iter().flat_map(|list| list.split(','));
        let sources = first(MAX_TUNNEL_SOURCES, sources.filter_map(|text| read_address(text).ok()));
        self.known_far_ends().into_iter().chain(sources).filter(|address| !is_own(address)).collect()
    }

    /// Its Pod CIDRs, also those that another Node has as well; what is none is left out.
    pub(crate) fn known_pod_cidrs(&self) -> impl Iterator<Item = IpNet> {
        self.pod_cidrs.iter().filter_map(|text| text.parse::<IpNet>().ok()).map(|cidr| cidr.trunc())
    }

    /// Reads the record, and says what is wrong with it.
    pub(crate) fn read(&self) -> (ReadNode, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut pod_networks = DualStack::default();
        for network in sound(self.pod_cidrs.iter().map(|text| read_pod_cidr(text)), &mut problems) {
            // Kubernetes gives a Node one network of each family.
            pod_networks.insert(IpFamily::of_net(&network.cidr), network);
        }
        if self.pod_cidrs.is_empty() {
            problems.push(Problem::NoPodCidr);
        }
        let transport = self.transport(&mut problems);
        (ReadNode { pod_networks, transport }, problems)
    }

    /// The addresses that peers send to; what is wrong with them goes to `problems`.
    pub(crate) fn transport(&self, problems: &mut Vec<Problem>) -> DualStack<IpAddr> {
        match &self.transport_addresses {
            Some(list) => sound(list.split(',').map(read_address), problems).collect(),
            None => self.addresses.iter().copied().filter(is_of_a_host).collect(),
        }
    }
}

/// The values among the results; their problems go to `problems`.
fn sound<T>(
    results: impl Iterator<Item = Result<T, Problem>>,
    problems: &mut Vec<Problem>,
) -> impl Iterator<Item = T> {
    results.filter_map(|result| result.map_err(|problem| problems.push(problem)).ok())
}

fn read_pod_cidr(text: &str) -> Result<PodNetwork, Problem> {
    let cidr = text.parse::<IpNet>().ok().map(|cidr| cidr.trunc());
    let network = cidr.and_then(|cidr| Some(PodNetwork { cidr, gateway_ip: gateway_ip(cidr)? }));
    network.ok_or_else(|| Problem::InvalidPodCidr(text.to_owned()))
}

fn read_address(text: &str) -> Result<IpAddr, Problem> {
    let text = text.trim();
    let address = text.parse().ok().filter(is_of_a_host);
    address.ok_or_else(|| Problem::InvalidTransportAddress(text.to_owned()))
}

/// The first `count` addresses of hosts.
fn first(count: usize, addresses: impl Iterator<Item = IpAddr>) -> BTreeSet<IpAddr> {
    let mut first = BTreeSet::new();
    for address in addresses.filter(is_of_a_host) {
        if first.len() < count {
            first.insert(address);
        }
    }
    first
}

/// Whether packets may come from an address, and go to it alone. None does from `0.0.0.0/8` (RFC 6890 §2.2.2).
fn is_of_a_host(address: &IpAddr) -> bool {
    let no_host = match address {
        IpAddr::V4(address) => address.octets()[0] == 0 || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unspecified(),
    };
    !(no_host || address.is_loopback() || address.is_multicast())
}
