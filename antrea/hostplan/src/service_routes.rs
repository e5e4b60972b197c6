//! The routes and neighbours by which packets to Services of the agent get from the host to the bridge.

use std::net::IpAddr;

use antrea_types::{GLOBAL_VIRTUAL_MAC, InterfaceName, IpFamily, virtual_ip};
use ipnet::IpNet;

use crate::{ClusterIpNetworks, HostServices, Neighbour, Route, ServiceTraffic};

/// The routes of the families that Pods have: to the networks of ClusterIPs, and to each external IP. Everything goes by
/// one next hop, which only the bridge has.
pub fn service_routes(
    traffic: &ServiceTraffic,
    cluster_ips: &ClusterIpNetworks,
    gateway: &InterfaceName,
    families: impl Iterator<Item = IpFamily>,
) -> Vec<Route> {
    let Some(agent) = traffic.agent() else { return Vec::new() };
    let mut routes = Vec::new();
    for family in families {
        let next_hop = virtual_ip::SERVICE.of(family);
        routes.push(Route::link(next_hop.into(), gateway));
        let destinations =
            agent.services.iter().flat_map(|services| destinations(services, cluster_ips, family));
        let destinations = destinations.chain([virtual_ip::NODE_PORT.of(family).into()]);
        routes.extend(destinations.map(|net| Route::via(net, next_hop, gateway)));
    }
    routes
}

fn destinations(
    services: &HostServices,
    cluster_ips: &ClusterIpNetworks,
    family: IpFamily,
) -> impl Iterator<Item = IpNet> {
    let networks = cluster_ips.networks.iter().copied();
    let all = networks.chain(services.external_ips.iter().copied().map(IpNet::from));
    all.filter(move |net| IpFamily::of_net(net) == family)
}

/// Whether a route is one of those, of whichever Services.
pub fn is_service_route(route: &Route) -> bool {
    route.gateway() == Some(virtual_ip::SERVICE.of(route.family()))
}

/// The neighbours of the families that Pods have.
pub fn service_neighbours(
    traffic: &ServiceTraffic,
    gateway: &InterfaceName,
    families: impl Iterator<Item = IpFamily>,
) -> Vec<Neighbour> {
    let neighbour = |ip: IpAddr| Neighbour { ip, device: gateway.clone(), mac: GLOBAL_VIRTUAL_MAC };
    match traffic {
        ServiceTraffic::ByHost => Vec::new(),
        ServiceTraffic::ByAgent(_) => {
            families.map(|family| neighbour(virtual_ip::SERVICE.of(family))).collect()
        }
    }
}
