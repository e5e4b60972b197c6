//! Services, where the agent proxies them: their addresses are translated in the pipeline.

use std::net::{IpAddr, SocketAddr};

use antrea_openflow::{Action, Bucket, BucketId, Flow, Group, GroupKind, SubField, TableId};
use antrea_types::{IpFamily, virtual_ip};

use crate::fields::{ENDPOINT_PORT, Mark, REMOTE_ENDPOINT, SERVICE_WITHOUT_ENDPOINT, endpoint_ip};
use crate::layout::Layout;
use crate::model::{Datapath, Peer, PeerNetwork, PeerRoute, PipelineConfig, PodInterface};
use crate::order::Table;
use crate::service::{
    AdmittedSources, Backend, Destination, DirectServerReturn, Endpoint, EndpointGroup, EndpointPlace,
    ExternalTraffic, Frontend, GroupMode, ServiceProxy, SessionAffinity, ip_bits,
};
use crate::tables::{
    conntrack_state, dsr_service_mark, endpoint_dnat, l3_forwarding, node_port_mark, output,
    pre_routing_classifier, service_lb, session_affinity, snat, snat_mark, un_snat,
};

/// Needed whatever is served. The tables of PodConnectivity that have flows of Services, too, are realized in any case.
const TABLES: &[Table] = &[
    un_snat::TABLE,
    pre_routing_classifier::TABLE,
    session_affinity::TABLE,
    service_lb::TABLE,
    endpoint_dnat::TABLE,
    snat_mark::TABLE,
    snat::TABLE,
];

/// The share of every endpoint in a group.
const WEIGHT: u16 = 100;

/// The tables that the feature needs: none where the host serves Services.
pub fn tables(config: &PipelineConfig) -> impl Iterator<Item = &'static Table> {
    let proxy = config.proxy();
    let external = proxy.and_then(|proxy| match proxy.external {
        ExternalTraffic::ByAgent { .. } => Some(&node_port_mark::TABLE),
        ExternalTraffic::ByHost => None,
    });
    let direct = match config.direct_server_return() {
        DirectServerReturn::On => Some(&dsr_service_mark::TABLE),
        DirectServerReturn::Off => None,
    };
    let always = proxy.map(|_| TABLES).unwrap_or_default();
    always.iter().chain(external).chain(direct)
}

/// The flows that do not depend on Services, Pods and peers.
pub fn base_flows(layout: &Layout, config: &PipelineConfig) -> Vec<Flow> {
    let Some(proxy) = config.proxy() else { return Vec::new() };
    let mut flows = Vec::new();
    for family in config.families() {
        flows.extend(family_flows(layout, config, family));
        flows.extend(node_port_flows(layout, proxy, family));
        if proxy.direct_server_return == DirectServerReturn::On {
            flows.extend(direct_flows(layout, config, family));
        }
    }
    flows.extend(session_affinity::others(layout));
    flows.extend(service_lb::gone(layout));
    flows.extend(endpoint_dnat::no_endpoint(layout));
    flows.extend(endpoint_dnat::choose_again(layout));
    flows.extend(l3_forwarding::to_endpoint_behind_gateway(layout, config.gateway.mac));
    flows.extend(output::back(layout));
    flows
}

/// Connections to Services, and the sources that are translated with them.
fn family_flows(layout: &Layout, config: &PipelineConfig, family: IpFamily) -> Vec<Flow> {
    let service = virtual_ip::SERVICE.of(family);
    let mut flows = Vec::new();
    flows.extend(un_snat::answers(layout, service));
    flows.extend(conntrack_state::known_to_service(layout, family));
    flows.extend(pre_routing_classifier::find_endpoint(layout, family));
    flows.extend(snat_mark::through_gateway(layout, family));
    flows.extend(snat_mark::to_remote_endpoint(layout, family));
    flows.extend(snat::through_gateway(layout, service));
    flows.extend(snat::known(layout, family));
    if let Some(gateway) = config.gateway.ips.get(family).copied() {
        flows.extend(un_snat::answers(layout, gateway));
        flows.extend(snat::to_oneself(layout, gateway));
        flows.extend(snat::from_gateway(layout, gateway));
    }
    if config.datapath() == Datapath::Userspace {
        flows.extend(snat::own_through_gateway(layout, service));
        let gateway = config.gateway.ips.get(family).copied();
        flows.extend(gateway.into_iter().flat_map(|gateway| snat::own_from_gateway(layout, gateway)));
    }
    flows
}

fn node_port_addresses(config: &PipelineConfig) -> &[IpAddr] {
    match config.proxy().map(|proxy| &proxy.external) {
        Some(ExternalTraffic::ByAgent { node_port_addresses }) => node_port_addresses,
        Some(ExternalTraffic::ByHost) | None => &[],
    }
}

/// The addresses that NodePorts are served on.
fn node_port_flows(layout: &Layout, proxy: &ServiceProxy, family: IpFamily) -> Vec<Flow> {
    let ExternalTraffic::ByAgent { node_port_addresses } = &proxy.external else { return Vec::new() };
    let own = node_port_addresses.iter().copied().filter(|address| IpFamily::of(address) == family);
    let addresses = own.chain([virtual_ip::NODE_PORT.of(family)]);
    addresses.filter_map(|address| node_port_mark::to_node(layout, address)).collect()
}

/// Connections whose endpoint answers the client directly.
fn direct_flows(layout: &Layout, config: &PipelineConfig, family: IpFamily) -> Vec<Flow> {
    let mut flows = Vec::new();
    let own = config.tunnel.and_then(|_| config.local_pod_cidrs.get(family));
    flows.extend(own.and_then(|pod_cidr| conntrack_state::foreign_from_pods(layout, *pod_cidr)));
    flows.extend(conntrack_state::perhaps_answered_directly(layout, family));
    flows.extend(conntrack_state::perhaps_answered_directly_but_known(layout, family));
    flows.extend(endpoint_dnat::direct(layout, family));
    flows.extend(endpoint_dnat::invalid(layout, family));
    flows
}

/// What a Pod of this Node needs to reach itself through a Service.
pub fn pod_flows(layout: &Layout, pod: &PodInterface) -> Vec<Flow> {
    pod.ips.iter().filter_map(|address| snat_mark::to_oneself(layout, *address)).collect()
}

/// For DSR: the flows to endpoints on another Node, and the drop of its Pods as foreign clients.
pub fn peer_flows(layout: &Layout, config: &PipelineConfig, peer: &Peer) -> Vec<Flow> {
    if config.direct_server_return() == DirectServerReturn::Off {
        return Vec::new();
    }
    let to_endpoints = |network: &PeerNetwork| match network.route {
        PeerRoute::Tunnel { remote } => {
            l3_forwarding::to_direct_endpoint(layout, config.gateway.mac, network.pod_cidr, remote)
        }
        PeerRoute::Host => None,
    };
    let from_pods = |network: &PeerNetwork| {
        config.tunnel.and_then(|_| conntrack_state::foreign_from_pods(layout, network.pod_cidr))
    };
    peer.networks
        .iter()
        .flat_map(|network| to_endpoints(network).into_iter().chain(from_pods(network)))
        .collect()
}

/// The flows of a frontend.
pub fn frontend_flows(layout: &Layout, config: &PipelineConfig, frontend: &Frontend) -> Vec<Flow> {
    let mut flows = Vec::with_capacity(1);
    flows.extend(service_lb::short_circuit(layout, frontend));
    flows.extend(service_lb::of_other_clusters(layout, frontend));
    flows.extend(service_lb::sent_on(layout, frontend));
    flows.extend(service_lb::select(layout, frontend));
    flows.extend(service_lb::remember(layout, frontend));
    flows.extend(conntrack_state::foreign_to_direct_endpoint(layout, frontend));
    flows.extend(dsr_service_mark::mark(layout, frontend));
    if config.datapath() == Datapath::Userspace {
        let addresses = addresses(config, frontend.destination);
        flows.extend(addresses.filter_map(|address| endpoint_dnat::already_there(layout, frontend, address)));
    }
    flows
}

/// What packets to a frontend may have for a destination.
fn addresses(config: &PipelineConfig, destination: Destination) -> impl Iterator<Item = SocketAddr> {
    let (address, node_port) = match destination {
        Destination::Address(address) => (Some(address), None),
        Destination::NodePort { family, port } => (None, Some((family, port))),
    };
    let of_node = node_port.into_iter().flat_map(|(family, port)| {
        let own = node_port_addresses(config).iter().filter(move |own| IpFamily::of(own) == family);
        own.map(move |own| SocketAddr::new(*own, port))
    });
    address.into_iter().chain(of_node)
}

/// A group of endpoints. Without any it marks packets for the agent to refuse.
pub fn group(layout: &Layout, group: &EndpointGroup) -> Group {
    let dnat = layout.id(&endpoint_dnat::TABLE);
    let next = match (group.affinity, group.mode) {
        (SessionAffinity::ClientIp { .. }, _) => layout.id(&service_lb::TABLE),
        (SessionAffinity::None, GroupMode::Dsr) => layout.id(&dsr_service_mark::TABLE),
        (SessionAffinity::None, GroupMode::Nat) => dnat,
    };
    let buckets = match group.endpoints.as_slice() {
        [] => vec![bucket(0, vec![load(SERVICE_WITHOUT_ENDPOINT)], dnat)],
        endpoints => {
            let buckets = (0..).zip(endpoints).map(|(id, endpoint)| bucket(id, chosen(endpoint), next));
            buckets.collect()
        }
    };
    Group { id: group.id, kind: GroupKind::SelectByConnection, buckets }
}

/// The flows of a group whose Service's clients stay with their endpoints.
pub fn group_flows(layout: &Layout, group: &EndpointGroup) -> Vec<Flow> {
    group.endpoints.iter().filter_map(|endpoint| service_lb::still_there(layout, group, endpoint)).collect()
}

fn bucket(id: u32, mut actions: Vec<Action>, next: Option<TableId>) -> Bucket {
    actions.extend(next.map(Action::resubmit));
    Bucket::new(BucketId(id), actions).weight(WEIGHT)
}

/// What remembers a chosen endpoint.
fn chosen(endpoint: &Endpoint) -> Vec<Action> {
    let mut actions = Vec::with_capacity(4);
    if endpoint.place == EndpointPlace::Elsewhere {
        actions.push(load(REMOTE_ENDPOINT));
    }
    let address: IpAddr = endpoint.address.ip();
    actions.push(load_bits(endpoint_ip(IpFamily::of(&address)), ip_bits(address)));
    actions.push(load_bits(ENDPOINT_PORT, endpoint.address.port().into()));
    actions
}

fn load(mark: Mark) -> Action {
    load_bits(mark.range, mark.value.into())
}

fn load_bits(range: SubField, value: u128) -> Action {
    Action::load(range, value)
}

/// The flows that keep others than these sources from an address of a load balancer.
pub fn admitted_source_flows(layout: &Layout, sources: &AdmittedSources) -> Vec<Flow> {
    let mut flows = pre_routing_classifier::admitted(layout, sources);
    flows.extend(pre_routing_classifier::denied(layout, sources));
    flows
}

/// The flow of an endpoint.
pub fn backend_flow(layout: &Layout, backend: &Backend) -> Option<Flow> {
    endpoint_dnat::to_endpoint(layout, backend)
}
