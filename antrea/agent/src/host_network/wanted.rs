//! What the Node's kernel shall have for its peers and for Services.

use std::collections::BTreeSet;
use std::net::IpAddr;

use antrea_agent_routing::NodeRoutes;
use antrea_config::{AgentConfig, DatapathType};
use antrea_hostplan::iptables::SourcePorts;
use antrea_hostplan::{
    ExternalMasquerade, HostConfig, HostPlan, MarkedSource, Neighbour, Route, RouteProtocol, ServiceTraffic,
    host_rules, is_service_route, service_neighbours, service_routes,
};
use antrea_pipeline::{HOST_LOCAL_MAC, PeerRoute};
use antrea_types::{DualStack, InterfaceName, TunnelTraffic};
use ipnet::IpNet;

use crate::tunnel;

/// What never changes while the agent runs.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    pub(super) gateway: InterfaceName,
    /// How the bridge learns what the Node itself sends; none where it sees marks of packets.
    pub(super) marked_source: Option<MarkedSource>,
    own_pod_cidrs: DualStack<IpNet>,
    tunnel: TunnelTraffic,
    agent_api_port: u16,
    source_ports: SourcePorts,
}

/// All of it.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) routes: Vec<Route>,
    pub(super) neighbours: Vec<Neighbour>,
    pub(super) plan: HostPlan,
    /// External IPs that get nothing, since they are addresses of Nodes.
    pub(super) left_out: BTreeSet<IpAddr>,
    /// The routes that are there and are not among `routes`, as far as they may be deleted.
    pub(super) stale: StaleRoutes,
}

/// Which routes are nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StaleRoutes {
    /// All by the gateway that no kernel made by itself.
    All,
    /// Those but for routes to Services, of which not all are known yet.
    ButToServices,
}

impl Fixed {
    pub(super) fn new(gateway: InterfaceName, config: &AgentConfig, own_pod_cidrs: DualStack<IpNet>) -> Self {
        let marked_source = match config.ovs.datapath_type {
            DatapathType::System => None,
            DatapathType::Netdev => Some(MarkedSource::of_node(gateway.clone(), HOST_LOCAL_MAC)),
        };
        Self {
            gateway,
            marked_source,
            own_pod_cidrs,
            tunnel: tunnel::traffic(config.tunnel),
            agent_api_port: config.api_port,
            source_ports: if config.snat_fully_random_ports {
                SourcePorts::RandomFully
            } else {
                SourcePorts::Kept
            },
        }
    }

    /// What peers and Services ask for. `own_addresses` are those of this Node.
    pub(super) fn wanted(
        &self,
        peers: &NodeRoutes,
        mut services: ServiceTraffic,
        own_addresses: BTreeSet<IpAddr>,
    ) -> Wanted {
        let (mut left_out, mut stale) = (BTreeSet::new(), StaleRoutes::All);
        if let ServiceTraffic::ByAgent(agent) = &mut services {
            let nodes = own_addresses.into_iter().chain(peer_addresses(peers)).collect();
            match &mut agent.services {
                Some(known) => left_out = known.leave_out_nodes(&nodes),
                None => stale = StaleRoutes::ButToServices,
            }
        }
        let families = || self.own_pod_cidrs.families();
        let mut routes = peers.routes();
        routes.extend(service_routes(&services, &self.gateway, families()));
        let mut neighbours = peers.neighbours();
        neighbours.extend(service_neighbours(&services, &self.gateway, families()));
        let plan = self.plan(peers.pod_cidrs(), services);
        Wanted { routes, neighbours, plan, left_out, stale }
    }

    fn plan(&self, pod_cidrs: Vec<IpNet>, services: ServiceTraffic) -> HostPlan {
        host_rules(&HostConfig {
            gateway: self.gateway.clone(),
            own_pod_cidrs: self.own_pod_cidrs,
            pod_cidrs,
            tunnel: Some(self.tunnel),
            agent_api_port: self.agent_api_port,
            membership_port: None,
            external_masquerade: ExternalMasquerade::On(self.source_ports),
            services,
        })
    }
}

impl Wanted {
    /// Whether a route may be deleted where it is not wanted.
    pub(super) fn owns(&self, route: &Route, gateway: &InterfaceName) -> bool {
        let ours = route.device == *gateway && route.protocol == RouteProtocol::BOOT;
        ours && match self.stale {
            StaleRoutes::All => true,
            StaleRoutes::ButToServices => !is_service_route(route) || self.routes.contains(route),
        }
    }
}

/// The addresses that tunnels to peers end at.
fn peer_addresses(peers: &NodeRoutes) -> impl Iterator<Item = IpAddr> {
    let networks = peers.peers.values().flat_map(|peer| peer.peer.networks.iter());
    networks.filter_map(|network| match network.route {
        PeerRoute::Tunnel { remote } => Some(remote),
        PeerRoute::Host => None,
    })
}
