//! Pods reach one another, their Node, other Nodes and what is behind them, over IPv4 and IPv6.

use std::net::{IpAddr, Ipv6Addr};

use antrea_openflow::Flow;
use antrea_types::{GLOBAL_VIRTUAL_MAC, IpFamily};

use crate::cookie::Category;
use crate::far_end::{FarEnd, InnerSource};
use crate::layout::Layout;
use crate::model::{Gateway, Peer, PeerNetwork, PeerRoute, PipelineConfig, PodInterface, Tunnel};
use crate::order::Table;
use crate::tables::{
    arp_responder, arp_spoof_guard, classifier, conntrack_commit, conntrack_state, conntrack_zone, ipv6,
    l2_forwarding_calc, l3_dec_ttl, l3_forwarding, output, spoof_guard,
};

/// Needed whatever the families are.
const TABLES: &[Table] = &[
    classifier::TABLE,
    spoof_guard::TABLE,
    conntrack_zone::TABLE,
    conntrack_state::TABLE,
    l3_forwarding::TABLE,
    l3_dec_ttl::TABLE,
    l2_forwarding_calc::TABLE,
    conntrack_commit::TABLE,
    output::TABLE,
];

/// Needed for one family only.
const fn tables_of(family: IpFamily) -> &'static [Table] {
    match family {
        IpFamily::V4 => &[arp_spoof_guard::TABLE, arp_responder::TABLE],
        IpFamily::V6 => &[ipv6::TABLE],
    }
}

/// The tables that the feature needs.
pub fn tables(config: &PipelineConfig) -> impl Iterator<Item = &'static Table> {
    TABLES.iter().chain(config.families().flat_map(tables_of))
}

/// The flows that do not depend on Pods and peers.
pub fn base_flows(layout: &Layout, config: &PipelineConfig) -> Vec<Flow> {
    let mut flows = Vec::new();
    for family in config.families() {
        flows.extend(family_flows(layout, config, family));
    }
    flows.extend(conntrack_state::new(layout));
    flows.extend(l3_forwarding::from_pod_to_external(layout, config.gateway.mac));
    flows.extend(l3_forwarding::to_external(layout));
    flows.extend(output::to_port(layout));
    flows.extend(gateway_flows(layout, &config.gateway));
    flows.extend(config.tunnel.into_iter().flat_map(|tunnel| tunnel_flows(layout, config, tunnel)));
    flows
}

/// Connection tracking, routing and neighbour discovery of a family.
fn family_flows(layout: &Layout, config: &PipelineConfig, family: IpFamily) -> Vec<Flow> {
    let gateway = &config.gateway;
    let mut flows = Vec::new();
    flows.extend(match family {
        IpFamily::V4 => arp_responder::others(layout).into_iter().collect(),
        IpFamily::V6 => ipv6_flows(layout, config),
    });
    flows.extend(spoof_guard::from_gateway(layout, gateway.of_port, family));
    flows.extend(conntrack_zone::track(layout, family));
    flows.extend(conntrack_state::invalid(layout, family));
    flows.extend(conntrack_state::known(layout, family));
    flows.extend(l3_forwarding::replies_to_gateway(layout, gateway.mac, family));
    let pods = config.local_pod_cidrs.get(family).copied();
    flows.extend(pods.and_then(|pods| l3_forwarding::to_nobody(layout, pods)));
    flows.extend(l3_dec_ttl::from_gateway(layout, family));
    flows.extend(l3_dec_ttl::others(layout, family));
    flows.extend(conntrack_commit::commit(layout, family));
    flows
}

fn ipv6_flows(layout: &Layout, config: &PipelineConfig) -> Vec<Flow> {
    let mut flows = ipv6::neighbour_discovery(layout, config.local_pod_cidrs.v6);
    flows.extend(spoof_guard::advertised_wrongly(layout));
    flows
}

/// The flows of the gateway port.
fn gateway_flows(layout: &Layout, gateway: &Gateway) -> Vec<Flow> {
    let Gateway { of_port, mac, ips } = gateway;
    let mut flows = Vec::new();
    if let Some(IpAddr::V4(address)) = ips.v4 {
        flows.extend(arp_spoof_guard::of_owner(layout, *of_port, address, *mac));
    }
    for address in ips.iter() {
        flows.extend(classifier::from_node(layout, *of_port, *address));
        flows.extend(l3_forwarding::to_gateway(layout, *mac, *address));
    }
    flows.extend(classifier::from_gateway(layout, *of_port));
    flows.extend(l2_forwarding_calc::to_port(layout, *mac, *of_port));
    flows
}

/// The flows of the tunnel port.
fn tunnel_flows(layout: &Layout, config: &PipelineConfig, tunnel: Tunnel) -> Vec<Flow> {
    let Tunnel { of_port, traffic } = tunnel;
    let mut flows = Vec::new();
    if config.families().any(|family| family == IpFamily::V6) {
        flows.extend(classifier::ipv6_from_tunnel(layout, of_port));
    }
    flows.extend(config.families().filter_map(|family| conntrack_state::foreign(layout, family)));
    flows.extend(l2_forwarding_calc::to_port(layout, GLOBAL_VIRTUAL_MAC, of_port));
    let forged = |family| output::forged_tunnel_packets(layout, config.gateway.of_port, traffic, family);
    flows.extend(config.families().filter_map(forged));
    flows
}

/// The flows of a Pod of this Node.
pub fn pod_flows(layout: &Layout, config: &PipelineConfig, pod: &PodInterface) -> Vec<Flow> {
    let PodInterface { of_port, mac, ips } = pod;
    let mut flows = Vec::new();
    if let Some(IpAddr::V4(address)) = ips.v4 {
        flows.extend(arp_spoof_guard::of_owner(layout, *of_port, address, *mac));
    }
    flows.extend(classifier::from_pod(layout, *of_port));
    if let Some(IpAddr::V6(address)) = ips.v6 {
        flows.extend(ipv6_pod_flows(layout, pod, address));
    }
    for address in ips.iter() {
        flows.extend(spoof_guard::from_pod(layout, *of_port, *mac, *address));
        flows.extend(l3_forwarding::to_pod_within_subnet(layout, *mac, *address));
        flows.extend(l3_forwarding::to_pod(layout, config.gateway.mac, *mac, *address));
    }
    flows.extend(l2_forwarding_calc::to_port(layout, *mac, *of_port));
    flows
}

/// What a Pod says to its neighbours, and what it sends from the link-local address of its kernel.
fn ipv6_pod_flows(layout: &Layout, pod: &PodInterface, address: Ipv6Addr) -> Vec<Flow> {
    let (of_port, mac, link_local) = (pod.of_port, pod.mac, pod.mac.link_local());
    let advertised = [address, link_local]
        .into_iter()
        .filter_map(|address| spoof_guard::advertised_by_pod(layout, of_port, mac, address));
    advertised.chain(spoof_guard::from_pod(layout, of_port, mac, link_local.into())).collect()
}

/// The flows of another Node.
pub fn peer_flows(layout: &Layout, config: &PipelineConfig, peer: &Peer) -> Vec<Flow> {
    let networks = peer.networks.iter().flat_map(|network| network_flows(layout, config, network));
    let sent = config.tunnel.into_iter().flat_map(|tunnel| sent_by_peer(layout, config, tunnel, peer));
    networks.chain(sent).collect()
}

/// What a peer sends through the tunnel: from each of its addresses that the tunnel can come from.
fn sent_by_peer(layout: &Layout, config: &PipelineConfig, tunnel: Tunnel, peer: &Peer) -> Vec<Flow> {
    let mut flows = Vec::new();
    for inner in config.families() {
        let from_far_end = match inner {
            IpFamily::V4 => classifier::from_far_end,
            IpFamily::V6 => spoof_guard::from_far_end,
        };
        let own = peer.networks.get(inner).map(|network| InnerSource::Own(network.pod_cidr));
        let outer = tunnel.outer(inner);
        for address in peer.addresses.iter().copied().filter(|address| IpFamily::of(address) == outer) {
            let from = FarEnd { tunnel: tunnel.of_port, address };
            let sources = own.into_iter().chain([InnerSource::Foreign]);
            flows.extend(
                sources.filter_map(|source| from_far_end(layout, from, source, Category::PodConnectivity)),
            );
        }
    }
    flows
}

fn network_flows(layout: &Layout, config: &PipelineConfig, network: &PeerNetwork) -> Vec<Flow> {
    let mut flows = Vec::new();
    if let IpAddr::V4(address) = network.gateway_ip {
        flows.extend(arp_responder::for_peer_gateway(layout, address));
    }
    let gateway = config.gateway.mac;
    flows.extend(match network.route {
        PeerRoute::Tunnel { remote } => {
            l3_forwarding::to_peer_by_tunnel(layout, gateway, network.pod_cidr, remote)
        }
        PeerRoute::Host => l3_forwarding::to_peer_by_host(layout, gateway, network.pod_cidr),
    });
    flows
}
