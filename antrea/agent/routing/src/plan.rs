//! What each peer needs in the switch and in the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use antrea_hostplan::{Neighbour, Route};
use antrea_pipeline::{Peer, PeerNetwork, PeerRoute};
use antrea_types::{DualStack, GLOBAL_VIRTUAL_MAC, IpFamily, NodeName};
use ipnet::IpNet;

use crate::claims::Claims;
use crate::gateway::gateway_ip;
use crate::mode::{Distance, TrafficMode};
use crate::node::{NodeRecord, OwnNode, PodNetwork, ReadNode};
use crate::problem::Problem;

/// The metric that the kernel gives routes to the prefix of an interface's IPv6 address (`IP6_RT_PRIO_ADDRCONF`).
const KERNEL_PREFIX_METRIC: u32 = 256;

/// All routes of a Node, and what is wrong with its peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRoutes {
    /// The routes to the Node's own Pods.
    pub own_routes: Vec<Route>,
    /// Each peer that can be reached, wholly or in part.
    pub peers: BTreeMap<NodeName, PeerPlan>,
    /// What keeps Pods of peers from being reached, the oldest Node first.
    pub problems: Vec<(NodeName, Problem)>,
    /// What all Nodes have.
    pub known: KnownNetworks,
    /// What peers know of where this Node sends from; `None` while there is no such Node.
    pub own_sources: Option<OwnSources>,
    mode: TrafficMode,
    own_pod_cidrs: DualStack<IpNet>,
}

/// Addresses and Pod CIDRs of all Nodes, this one and those included whose Pods cannot be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownNetworks {
    /// Every address in the status of every Node, of whichever type, and those that this Node's tunnel has.
    pub addresses: BTreeSet<IpAddr>,
    /// Where tunnels to Nodes go, one address of a family for each Node. Its agent may have written it, so it takes nothing from
    /// ClusterIPs.
    pub transport: BTreeSet<IpAddr>,
    /// Every Pod CIDR of every Node.
    pub pod_cidrs: BTreeSet<IpNet>,
}

/// What peers know of where tunnels of this Node come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnSources {
    /// Without being told.
    pub known: BTreeSet<IpAddr>,
    /// The annotation with the others.
    pub annotation: Option<String>,
}

impl OwnSources {
    fn of(record: &NodeRecord) -> Self {
        Self { known: record.known_far_ends(), annotation: record.tunnel_sources.clone() }
    }
}

impl KnownNetworks {
    fn of(own: &OwnNode, nodes: &[NodeRecord]) -> Self {
        let transport = own.transport.addresses.iter().map(IpNet::addr);
        // Problems of Nodes are told where their routes are planned.
        let of_node = |node: &NodeRecord| node.transport(&mut Vec::new());
        Self {
            addresses: transport.chain(nodes.iter().flat_map(NodeRecord::status_addresses)).collect(),
            transport: nodes
                .iter()
                .map(of_node)
                .flat_map(|transport| [transport.v4, transport.v6])
                .flatten()
                .collect(),
            pod_cidrs: own
                .pod_cidrs
                .iter()
                .copied()
                .chain(nodes.iter().flat_map(NodeRecord::known_pod_cidrs))
                .collect(),
        }
    }
}

/// What a peer needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerPlan {
    /// In the switch: input of the pipeline.
    pub peer: Peer,
    /// In the routing table.
    pub routes: Vec<Route>,
    /// In the neighbour table: what the switch cannot answer for.
    pub neighbours: Vec<Neighbour>,
}

impl NodeRoutes {
    /// The routes to all Pods, the Node's own first.
    pub fn routes(&self) -> Vec<Route> {
        self.own_routes.iter().chain(self.peers.values().flat_map(|peer| &peer.routes)).cloned().collect()
    }

    /// Where tunnels to peers go.
    pub fn remotes(&self) -> BTreeSet<IpAddr> {
        let networks = self.peers.values().flat_map(|peer| peer.peer.networks.iter());
        let remote = |network: &PeerNetwork| match network.route {
            PeerRoute::Tunnel { remote } => Some(remote),
            PeerRoute::Host => None,
        };
        networks.filter_map(remote).collect()
    }

    /// Where peers may send through the tunnel from. None where they use none among themselves.
    pub fn far_ends(&self) -> BTreeSet<IpAddr> {
        if self.mode.may_tunnel() { self.peer_addresses() } else { BTreeSet::new() }
    }

    /// The addresses of all peers.
    pub fn peer_addresses(&self) -> BTreeSet<IpAddr> {
        self.peers.values().flat_map(|peer| &peer.peer.addresses).copied().collect()
    }

    /// How a peer's Pod with this address is reached.
    pub fn route_to(&self, pod: IpAddr) -> Option<PeerRoute> {
        let mut networks = self.peers.values().flat_map(|peer| peer.peer.networks.iter());
        networks.find(|network| network.pod_cidr.contains(&pod)).map(|network| network.route)
    }

    /// The neighbours of all peers.
    pub fn neighbours(&self) -> Vec<Neighbour> {
        self.peers.values().flat_map(|peer| &peer.neighbours).cloned().collect()
    }

    /// The Pod networks of this Node and of the peers that can be reached.
    pub fn pod_cidrs(&self) -> Vec<IpNet> {
        let networks = self.peers.values().flat_map(|peer| peer.peer.networks.iter());
        self.own_pod_cidrs.iter().copied().chain(networks.map(|network| network.pod_cidr)).collect()
    }
}

/// How a Pod network of a peer is reached.
#[derive(Clone, Copy, Debug)]
struct Way {
    network: PeerNetwork,
    remote: IpAddr,
    distance: Distance,
}

/// Decides how this Node reaches its own Pods and those of `nodes`, among which it may be itself.
///
/// Where two Nodes have overlapping Pod networks, the older one has its network, or of two equally old the first by
/// name; this Node's own networks are nobody else's.
pub fn plan(own: &OwnNode, nodes: &[NodeRecord]) -> NodeRoutes {
    let mut claims = Claims::default();
    for cidr in own.pod_cidrs.iter() {
        // Two networks of different families, the first to be claimed: nothing is in their way.
        let _ = claims.claim(*cidr, &own.name);
    }
    let mut routes = NodeRoutes {
        own_routes: own_routes(own),
        peers: BTreeMap::new(),
        problems: Vec::new(),
        known: KnownNetworks::of(own, nodes),
        own_sources: None,
        mode: own.mode,
        own_pod_cidrs: own.pod_cidrs,
    };
    let (own_record, mut nodes): (Vec<_>, Vec<_>) = nodes.iter().partition(|node| node.name == own.name);
    routes.own_sources = own_record.first().copied().map(OwnSources::of);
    nodes.sort_by_key(|node| node.seniority());
    for record in nodes {
        let (node, mut problems) = record.read();
        let ways = ways(own, &record.name, &node, &mut claims, &mut problems);
        let own_record = own_record.first().copied();
        routes.problems.extend(problems.into_iter().map(|problem| whose(problem, record, own_record)));
        if !ways.is_empty() {
            routes.peers.insert(record.name.clone(), peer_plan(own, record, ways));
        }
    }
    routes
}

/// A problem with the Node that has it: of two Nodes with one network that is the younger one, which may be this one.
fn whose(problem: Problem, record: &NodeRecord, own: Option<&NodeRecord>) -> (NodeName, Problem) {
    match (problem, own) {
        (Problem::PodCidrTaken { cidr, taken, by }, Some(own))
            if by == own.name && record.seniority() < own.seniority() =>
        {
            (by, Problem::OwnPodCidrTaken { cidr: taken, taken: cidr, by: record.name.clone() })
        }
        (problem, _) => (record.name.clone(), problem),
    }
}

/// The ways to a peer's networks that are its own and can be reached, of families that this Node has.
fn ways(
    own: &OwnNode,
    name: &NodeName,
    node: &ReadNode,
    claims: &mut Claims,
    problems: &mut Vec<Problem>,
) -> DualStack<Way> {
    let mut ways = DualStack::default();
    for family in own.pod_cidrs.families() {
        let Some(PodNetwork { cidr, gateway_ip }) = node.pod_networks.get(family).copied() else { continue };
        if let Err((taken, by)) = claims.claim(cidr, name) {
            problems.push(Problem::PodCidrTaken { cidr, taken, by });
            continue;
        }
        let distance = Distance::of(node.transport.get(family), own.transport.addresses.get(family));
        let outer = own.mode.outer(own.tunnel, distance, family);
        let Some(remote) = node.transport.get(outer).copied() else {
            problems.push(Problem::NoTransportAddress { pods: family, outer });
            continue;
        };
        let network = PeerNetwork { pod_cidr: cidr, gateway_ip, route: own.mode.route(remote, distance) };
        ways.insert(family, Way { network, remote, distance });
    }
    ways
}

fn own_routes(own: &OwnNode) -> Vec<Route> {
    let route = |cidr: &IpNet| {
        let route = Route::link(*cidr, &own.gateway);
        match (IpFamily::of_net(cidr), gateway_ip(*cidr)) {
            (IpFamily::V4, Some(source)) => route.source(source),
            (IpFamily::V4, None) => route,
            (IpFamily::V6, _) => route.metric(KERNEL_PREFIX_METRIC),
        }
    };
    own.pod_cidrs.iter().map(route).collect()
}

fn peer_plan(own: &OwnNode, record: &NodeRecord, ways: DualStack<Way>) -> PeerPlan {
    let (node, addresses) = (record.name.clone(), record.far_ends(own));
    let peer = Peer { node, addresses, networks: ways.map(|way| way.network) };
    let mut plan = PeerPlan { peer, routes: Vec::new(), neighbours: Vec::new() };
    for way in ways.iter() {
        match way.network.route {
            PeerRoute::Tunnel { .. } => add_tunnel_routes(own, &way.network, &mut plan),
            PeerRoute::Host => plan.routes.extend(host_route(own, way)),
        }
    }
    plan
}

/// The host sends to the peer's gateway through its own, as if both were on one link.
fn add_tunnel_routes(own: &OwnNode, network: &PeerNetwork, plan: &mut PeerPlan) {
    let PeerNetwork { pod_cidr, gateway_ip, .. } = *network;
    match gateway_ip {
        // The switch answers ARP for the peer's gateway.
        IpAddr::V4(_) => plan.routes.push(Route::via_on_link(pod_cidr, gateway_ip, &own.gateway)),
        IpAddr::V6(_) => {
            plan.routes.push(Route::link(gateway_ip.into(), &own.gateway));
            plan.routes.push(Route::via(pod_cidr, gateway_ip, &own.gateway));
            let device = own.gateway.clone();
            plan.neighbours.push(Neighbour { ip: gateway_ip, device, mac: GLOBAL_VIRTUAL_MAC });
        }
    }
}

/// The host sends to a peer of its subnet itself; to others the network between them knows the way.
fn host_route(own: &OwnNode, way: &Way) -> Option<Route> {
    match way.distance {
        Distance::SameSubnet => Some(Route::via(way.network.pod_cidr, way.remote, &own.transport.interface)),
        Distance::OtherSubnet => None,
    }
}
