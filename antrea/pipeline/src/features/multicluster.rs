//! Connections between clusters, through their Gateways. Its tables are those of PodConnectivity and Services.
//!
//! A request comes from its Pod's Node with the address of a Service or Pod of the other cluster as its destination. The
//! Gateway of its cluster makes itself the source; that of the other cluster finds the Service's endpoint. Answers pass the
//! same four Nodes.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use antrea_openflow::{Flow, Transport};
use antrea_types::{IpFamily, OfPort, virtual_ip};
use ipnet::Ipv4Net;

use crate::cookie::Category;
use crate::far_end::{FarEnd, InnerSource};
use crate::layout::Layout;
use crate::model::{Datapath, PipelineConfig};
use crate::multicluster::{Admits, GatewayRole, Multicluster, RemoteCluster, UntunnelledPods};
use crate::service::ExternalTraffic;
use crate::tables::{
    classifier, conntrack_commit, conntrack_state, l2_forwarding_calc, l3_forwarding, output, snat,
    snat_mark, un_snat,
};

/// The port of the tunnel, if the Node has all that the feature needs.
pub(crate) fn tunnel(config: &PipelineConfig) -> Option<OfPort> {
    config
        .proxy()
        .filter(|_| config.multicluster == Multicluster::On)
        .and(config.tunnel)
        .map(|tunnel| tunnel.of_port)
}

/// The flows of the Node's own part, whichever other clusters there are.
pub fn role_flows(layout: &Layout, config: &PipelineConfig, role: &GatewayRole) -> Vec<Flow> {
    let Some(tunnel) = tunnel(config) else { return Vec::new() };
    let mut flows = Vec::new();
    flows.extend(l2_forwarding_calc::to_other_clusters(layout, tunnel));
    if let Some(IpAddr::V4(address)) = config.gateway.ips.v4 {
        flows.extend(l3_forwarding::opened_to_node(layout, address));
    }
    if let GatewayRole::Gateway { address, .. } = role {
        flows.extend(un_snat::from_other_clusters(layout, *address));
        flows.extend(snat_mark::between_other_clusters(layout));
        flows.extend(output::between_tunnels(layout, tunnel));
        flows.extend(host_endpoint_flows(layout, config));
    }
    if let Some(gateway) = role.other_gateway() {
        flows.extend(un_snat::from_own_gateway(layout, gateway));
        if config.families().any(|family| family == IpFamily::V6) {
            flows.extend(un_snat::ipv6_from_tunnel(layout));
        }
        flows.extend(un_snat::to_own_gateway(layout, gateway));
    }
    flows
}

/// Endpoints of exported Services on a host: their answers have to come back to the Gateway. The host has a route to the
/// virtual address where the agent serves external traffic.
fn host_endpoint_flows(layout: &Layout, config: &PipelineConfig) -> Vec<Flow> {
    let external = config.proxy().map(|proxy| &proxy.external);
    if !matches!(external, Some(ExternalTraffic::ByAgent { .. })) {
        return Vec::new();
    }
    let mut flows = Vec::new();
    flows.extend(l3_forwarding::from_other_clusters_to_host(layout, config.gateway.mac));
    flows.extend(snat_mark::from_other_clusters_to_host(layout));
    let service = virtual_ip::SERVICE.of(IpFamily::V4);
    flows.extend(snat::from_other_clusters_to_host(layout, service));
    if config.datapath() == Datapath::Userspace {
        flows.extend(snat::own_from_other_clusters_to_host(layout, service));
    }
    flows
}

/// The flows of another cluster.
pub fn cluster_flows(
    layout: &Layout,
    config: &PipelineConfig,
    role: &GatewayRole,
    cluster: &RemoteCluster,
) -> Vec<Flow> {
    let Some(tunnel) = tunnel(config) else { return Vec::new() };
    let mac = config.gateway.mac;
    let mut flows = Vec::new();
    for network in &cluster.networks {
        flows.extend(l3_forwarding::to_cluster(layout, mac, *network, role.tunnel_to(cluster.gateway)));
        if let GatewayRole::Gateway { address, .. } = role {
            flows.extend(conntrack_state::sent_on_to_cluster(layout, *network));
            flows.extend(snat_mark::to_cluster(layout, *network));
            flows.extend(snat_mark::opened_to_another_cluster(layout, *network));
            flows.extend(snat::to_cluster(layout, *network, *address));
            if config.datapath() == Datapath::Userspace {
                flows.extend(snat::own_to_cluster(layout, *network, *address));
            }
        }
    }
    for gateway in [cluster.gateway].iter().chain(&cluster.former_gateways).copied() {
        let from = FarEnd { tunnel, address: gateway.into() };
        let sources = [InnerSource::Own(from.address.into())].into_iter().chain(behind(role, cluster));
        flows.extend(sources.filter_map(|source| classifier::from_other_cluster(layout, from, source)));
        flows.extend(opened_by(layout, role, gateway));
        flows.extend(
            role.other_gateway().and_then(|own| un_snat::of_cluster_to_own_gateway(layout, own, gateway)),
        );
        flows.extend(l3_forwarding::answers_to_cluster(layout, mac, gateway, role.tunnel_to(gateway)));
        if let Some(address) = role.address() {
            flows.extend(un_snat::probe_of_gateway(layout, mac, address, gateway));
            flows.extend(un_snat::answer_of_gateway(layout, address, gateway));
        }
        if let GatewayRole::Gateway { .. } = role {
            flows.extend(snat_mark::opened_by_another_cluster(layout, gateway));
            let transports = [Transport::Tcp, Transport::Udp, Transport::Sctp].into_iter();
            flows.extend(transports.filter_map(|transport| {
                conntrack_commit::from_other_cluster(layout, config.datapath(), gateway, transport)
            }));
        }
    }
    flows
}

/// What becomes of connections that the Gateway of another cluster opens. Nodes that are not the Gateway trust their own to
/// forward only what it admits.
fn opened_by(layout: &Layout, role: &GatewayRole, gateway: Ipv4Addr) -> Vec<Flow> {
    match role {
        GatewayRole::Gateway { admits: Admits::Listed, .. } => {
            let clauses = conntrack_state::opened_by_another_cluster(layout, gateway);
            clauses.chain(conntrack_state::not_exported(layout, gateway)).collect()
        }
        GatewayRole::Gateway { admits: Admits::Everything, .. }
        | GatewayRole::Regular { .. }
        | GatewayRole::Standby { .. } => {
            conntrack_state::from_other_cluster(layout, gateway).into_iter().collect()
        }
    }
}

/// The flows that let other clusters in to these networks, where the Gateway [admits a list](Admits::Listed).
pub fn exported_flows(layout: &Layout, config: &PipelineConfig, networks: &BTreeSet<Ipv4Net>) -> Vec<Flow> {
    if tunnel(config).is_none() {
        return Vec::new();
    }
    let clauses = networks.iter().filter_map(|network| conntrack_state::opened_to_exported(layout, *network));
    conntrack_state::exported(layout).into_iter().chain(clauses).collect()
}

/// The sources of another cluster's replies. Only the Gateway accepts replies: a Node that is none forwards requests alone, from
/// clusters that have not heard of the new Gateway yet.
fn behind(role: &GatewayRole, cluster: &RemoteCluster) -> impl Iterator<Item = InnerSource> {
    let networks = match role {
        GatewayRole::Gateway { .. } => cluster.networks.as_slice(),
        GatewayRole::Regular { .. } | GatewayRole::Standby { .. } => &[],
    };
    networks.iter().map(|network| InnerSource::Behind((*network).into()))
}

/// The flow of another Gateway of this cluster, by an address that it sends from: it forwards for other clusters, too.
pub fn own_gateway_flow(layout: &Layout, config: &PipelineConfig, address: Ipv4Addr) -> Option<Flow> {
    let from = FarEnd { tunnel: tunnel(config)?, address: address.into() };
    classifier::from_far_end(layout, from, InnerSource::ForeignByGateway, Category::Multicluster)
}

/// The flow of Pods of another Node that this one reaches without a tunnel. Only a Gateway has it.
pub fn untunnelled_flow(
    layout: &Layout,
    config: &PipelineConfig,
    role: &GatewayRole,
    pods: &UntunnelledPods,
) -> Option<Flow> {
    match role {
        GatewayRole::Gateway { .. } if tunnel(config).is_some() => {
            l3_forwarding::from_other_clusters(layout, config.gateway.mac, pods)
        }
        _ => None,
    }
}
