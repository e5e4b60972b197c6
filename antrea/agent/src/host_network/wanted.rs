//! What the Node's kernel shall have for its peers and for Services.

use std::collections::BTreeSet;
use std::net::IpAddr;

use antrea_agent_multicluster::FlowSource;
use antrea_agent_routing::NodeRoutes;
use antrea_config::{AgentConfig, DatapathType};
use antrea_hostplan::iptables::SourcePorts;
use antrea_hostplan::{
    ClusterIpNetworks, ExternalMasquerade, HostConfig, HostPlan, HostServices, MarkedSource, Neighbour,
    OwnNetwork, Protected, Route, RouteProtocol, ServiceTraffic, host_rules, is_service_route,
    service_neighbours, service_routes,
};
use antrea_pipeline::HOST_LOCAL_MAC;
use antrea_types::{DualStack, InterfaceName, TunnelTraffic};
use ipnet::IpNet;

use super::left_out::LeftOut;
use crate::multicluster::FlowSources;
use crate::tunnel;

/// What never changes while the agent runs.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    pub(super) gateway: InterfaceName,
    /// How the bridge learns what the Node itself sends; none where it sees marks of packets.
    pub(super) marked_source: Option<MarkedSource>,
    own_pod_cidrs: DualStack<IpNet>,
    /// Where the agent reaches the API server, as far as that is an address.
    api_server: Option<IpAddr>,
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
    /// Where packets of the tunnel are let in from.
    pub(super) far_ends: BTreeSet<IpAddr>,
    /// What gets nothing, since it is not the Services' own.
    pub(super) left_out: LeftOut,
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
    pub(super) fn new(
        gateway: InterfaceName,
        config: &AgentConfig,
        own_pod_cidrs: DualStack<IpNet>,
        api_server: Option<IpAddr>,
    ) -> Self {
        let marked_source = match config.ovs.datapath_type {
            DatapathType::System => None,
            DatapathType::Netdev => Some(MarkedSource::of_node(gateway.clone(), HOST_LOCAL_MAC)),
        };
        Self {
            gateway,
            marked_source,
            own_pod_cidrs,
            api_server,
            tunnel: tunnel::traffic(config.tunnel),
            agent_api_port: config.api_port,
            source_ports: if config.snat_fully_random_ports {
                SourcePorts::RandomFully
            } else {
                SourcePorts::Kept
            },
        }
    }

    /// What peers, Services and other clusters ask for. As long as nothing is known of this Node's `own` network, what is there
    /// for Services stays as it is.
    pub(super) fn wanted(
        &self,
        peers: &NodeRoutes,
        mut services: ServiceTraffic,
        clusters: &FlowSources,
        own: Option<&OwnNetwork>,
    ) -> Wanted {
        let (mut left_out, mut stale) = (LeftOut::default(), StaleRoutes::All);
        let mut cluster_ips = ClusterIpNetworks::default();
        if let ServiceTraffic::ByAgent(agent) = &mut services {
            match (&mut agent.services, own) {
                (Some(known), Some(own)) => {
                    let protected = self.protected(peers, known, own);
                    cluster_ips = known.cluster_ip_networks(&protected);
                    left_out = LeftOut::of(known.leave_out(&protected), &cluster_ips);
                }
                (unknown, _) => {
                    *unknown = None;
                    stale = StaleRoutes::ButToServices;
                }
            }
        }
        let families = || self.own_pod_cidrs.families();
        let mut routes = peers.routes();
        routes.extend(service_routes(&services, &cluster_ips, &self.gateway, families()));
        let mut neighbours = peers.neighbours();
        neighbours.extend(service_neighbours(&services, &self.gateway, families()));
        // Between Gateways and the other Nodes of their cluster there is always a tunnel.
        let mut far_ends = if clusters.is_empty() { peers.far_ends() } else { peers.peer_addresses() };
        far_ends.extend(clusters.values().flat_map(FlowSource::far_ends).map(IpAddr::V4));
        let plan = self.plan(peers.pod_cidrs(), far_ends.clone(), services);
        Wanted { routes, neighbours, plan, far_ends, left_out, stale }
    }

    /// What Services cannot have. Where the agent reaches the API server by its ClusterIP, that is for Services, of course.
    fn protected(&self, peers: &NodeRoutes, services: &HostServices, own: &OwnNetwork) -> Protected {
        let reached_at = self.api_server.filter(|ip| !services.cluster_ips.contains(ip));
        Protected {
            nodes: peers.known.addresses.clone(),
            transport: peers.known.transport.clone(),
            api_servers: services.api_servers.iter().copied().chain(reached_at).collect(),
            pod_cidrs: peers.known.pod_cidrs.clone(),
            own: own.clone(),
        }
    }

    fn plan(&self, pod_cidrs: Vec<IpNet>, far_ends: BTreeSet<IpAddr>, services: ServiceTraffic) -> HostPlan {
        host_rules(&HostConfig {
            gateway: self.gateway.clone(),
            own_pod_cidrs: self.own_pod_cidrs,
            pod_cidrs,
            tunnel: Some(self.tunnel),
            far_ends,
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
