//! L3Forwarding: chooses the next hop by destination, and rewrites MAC addresses accordingly.
//!
//! Stage Routing. Matches the destination, RewriteMAC, PktSource, ct_state and ConnSource; loads PktDestination, tun_dst; next
//! tables L3DecTTL, or stage Switching where the packet stays in its subnet. Filled by PodConnectivity, Services and
//! Multicluster.
//!
//! No packet of a Pod goes on with the destination MAC that the Pod has written, unless it is for a group: policies of the
//! receiver are found by its port, and its port by the MAC, but connections are known by their IP addresses. With another MAC
//! than the receiver's a Pod could begin a connection that the receiver's policies deny, and go on with the right one.

use std::net::{IpAddr, Ipv4Addr};

use antrea_openflow::{CtState, Field, Flow, Match};
use antrea_types::{GLOBAL_VIRTUAL_MAC, IpFamily, MacAddr};
use ipnet::{IpNet, Ipv4Net};

use crate::cookie::Category;
use crate::fields::{
    BY_OWN_GATEWAY, DSR_SERVICE, PktDestination, PktSource, REWRITE_MAC, SERVICE_CONNECTION, endpoint_ip,
};
use crate::flow::{FlowBuilder, HIGH, HIGHEST, LOW, NORMAL, REST, UNCLAIMED};
use crate::layout::Layout;
use crate::multicluster::{UntunnelledPods, VIRTUAL_MAC};
use crate::order::{Stage, Table};
use crate::service::ip_bits;
use crate::tables::l3_dec_ttl;

/// The table.
pub const TABLE: Table = Table::by_feature("L3Forwarding");

/// To the gateway's own address. From the tunnel the packet has a foreign MAC, so it is written in any case.
pub fn to_gateway(layout: &Layout, mac: MacAddr, address: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(HIGH, Category::PodConnectivity).matching(Match::new().ip_dst(address));
    let flow = flow.set_eth_dst(mac).load(PktDestination::Gateway.mark());
    Some(flow.goto(layout.id(&l3_dec_ttl::TABLE)))
}

/// Answers in connections that came from the gateway go back there, whoever the answer is for: the host may have
/// translated the request (a Service's address, a node port) and has to translate the answer.
pub fn replies_to_gateway(layout: &Layout, mac: MacAddr, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let state = CtState::new().set(CtState::RPL | CtState::TRK);
    let flow = table.flow(HIGH, Category::PodConnectivity).matching(Match::new().ip(family).ct_state(state));
    let flow = flow.marked(PktSource::Gateway.connection_mark());
    let flow = flow.set_eth_dst(mac).load(PktDestination::Gateway.mark());
    Some(flow.goto(layout.id(&l3_dec_ttl::TABLE)))
}

/// To a Pod of this Node, from another one or from the Node: they are in one subnet. The sender may have a MAC of its choice
/// there, or that of the Pod that had the address before.
pub fn to_pod_within_subnet(layout: &Layout, pod: MacAddr, address: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity).matching(Match::new().ip_dst(address));
    let flow = flow.marked(REWRITE_MAC.unset()).set_eth_dst(pod);
    Some(flow.goto(layout.first_of(Stage::Switching)))
}

/// To a Pod of this Node, from elsewhere.
pub fn to_pod(layout: &Layout, gateway: MacAddr, pod: MacAddr, address: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity).matching(Match::new().ip_dst(address));
    let flow = flow.marked(REWRITE_MAC).set_eth_src(gateway).set_eth_dst(pod);
    Some(flow.goto(layout.id(&l3_dec_ttl::TABLE)))
}

/// To an address of this Node that no Pod has. Nobody's policies have judged it: were its connection remembered, the next Pod
/// with the address would have it.
pub fn to_nobody(layout: &Layout, pods: IpNet) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(UNCLAIMED, Category::PodConnectivity).matching(Match::new().ip_dst(pods));
    Some(flow.done())
}

/// To Pods of a peer, by the tunnel.
pub fn to_peer_by_tunnel(layout: &Layout, gateway: MacAddr, pods: IpNet, remote: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity).matching(Match::new().ip_dst(pods));
    Some(into_tunnel(layout, flow, [gateway, GLOBAL_VIRTUAL_MAC], remote))
}

/// To an endpoint of a peer that answers the client directly: the destination is still the Service's.
pub fn to_direct_endpoint(layout: &Layout, gateway: MacAddr, pods: IpNet, remote: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let (family, network) = (IpFamily::of_net(&pods), pods.network());
    let endpoint = endpoint_ip(family);
    let matching = Match::new().ip(family);
    let matching = matching.masked(endpoint.field(), ip_bits(network), ip_bits(pods.netmask()));
    let flow = table.flow(NORMAL, Category::Service).matching(matching).marked(DSR_SERVICE);
    Some(into_tunnel(layout, flow, [gateway, GLOBAL_VIRTUAL_MAC], remote))
}

/// To Services or Pods of another cluster.
pub fn to_cluster(layout: &Layout, gateway: MacAddr, network: Ipv4Net, remote: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::Multicluster).matching(Match::new().ip_dst(network));
    Some(into_tunnel(layout, flow, [gateway, VIRTUAL_MAC], remote))
}

/// Answers to another cluster, whose connections come from its Gateway's address.
pub fn answers_to_cluster(
    layout: &Layout,
    gateway: MacAddr,
    address: Ipv4Addr,
    remote: IpAddr,
) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let state = CtState::new().set(CtState::RPL | CtState::TRK);
    let matching = Match::new().ip_dst(IpAddr::V4(address)).ct_state(state);
    let flow = table.flow(NORMAL, Category::Multicluster).matching(matching);
    Some(into_tunnel(layout, flow, [gateway, VIRTUAL_MAC], remote))
}

/// From other clusters to Pods of another Node that packets of this cluster reach without a tunnel.
pub fn from_other_clusters(layout: &Layout, gateway: MacAddr, to: &UntunnelledPods) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = Match::new().ip_dst(to.pods).eth_dst(VIRTUAL_MAC);
    let flow = table.flow(HIGH, Category::Multicluster).matching(matching);
    let flow = flow.marked(PktSource::Tunnel.mark()).set_eth_src(gateway);
    let flow = flow.set_tunnel_dst(to.node).load(PktDestination::Tunnel.mark());
    Some(flow.goto(layout.id(&l3_dec_ttl::TABLE)))
}

/// Drops what other clusters open to the Node itself: the address of its gateway is one of the network of its Pods. It comes
/// from the other cluster here, or by a Gateway of this one.
pub fn opened_to_node(layout: &Layout, address: Ipv4Addr) -> impl Iterator<Item = Flow> {
    let first = move || {
        let state = CtState::new().set(CtState::NEW | CtState::TRK);
        Match::new().ip_dst(IpAddr::V4(address)).ct_state(state)
    };
    let flow = move |matching| {
        let flow = layout.open(&TABLE)?.flow(HIGHEST, Category::Multicluster).matching(matching);
        Some(flow.marked(SERVICE_CONNECTION.unset()).marked(PktSource::Tunnel.mark()))
    };
    let from_the_other = flow(first().eth_dst(VIRTUAL_MAC)).map(FlowBuilder::done);
    let by_own_gateway = flow(first()).map(|flow| flow.marked(BY_OWN_GATEWAY).done());
    from_the_other.into_iter().chain(by_own_gateway)
}

/// From other clusters to an endpoint behind the gateway: on a host.
pub fn from_other_clusters_to_host(layout: &Layout, gateway: MacAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = Match::new().ip(IpFamily::V4).eth_dst(VIRTUAL_MAC);
    let flow = table.flow(LOW, Category::Multicluster).matching(matching).marked(SERVICE_CONNECTION);
    let flow = flow.marked(PktSource::Tunnel.mark());
    let flow = flow.set_eth_dst(gateway).load(PktDestination::Gateway.mark());
    Some(flow.goto(layout.id(&l3_dec_ttl::TABLE)))
}

fn into_tunnel(
    layout: &Layout,
    flow: FlowBuilder,
    [source, destination]: [MacAddr; 2],
    remote: IpAddr,
) -> Flow {
    let flow = flow.set_eth_src(source).set_eth_dst(destination).set_tunnel_dst(remote);
    flow.load(PktDestination::Tunnel.mark()).goto(layout.id(&l3_dec_ttl::TABLE))
}

/// To Pods of a peer, by the host's routes.
pub fn to_peer_by_host(layout: &Layout, gateway: MacAddr, pods: IpNet) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity).matching(Match::new().ip_dst(pods));
    let flow = flow.set_eth_dst(gateway).load(PktDestination::Gateway.mark());
    Some(flow.goto(layout.id(&l3_dec_ttl::TABLE)))
}

/// From the gateway to an endpoint that is behind it again: on the host itself, or outside the cluster.
pub fn to_endpoint_behind_gateway(layout: &Layout, mac: MacAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(LOW, Category::Service).marked(SERVICE_CONNECTION);
    let flow = flow.marked(PktSource::Gateway.mark()).marked(REWRITE_MAC);
    let flow = flow.set_eth_dst(mac).load(PktDestination::Gateway.mark());
    Some(flow.goto(layout.id(&l3_dec_ttl::TABLE)))
}

/// Everything else that a Pod sends leaves by the gateway. Frames for a group keep their MAC, which has no port: they go no
/// further, and the host does not get them as its own.
pub fn from_pod_to_external(layout: &Layout, gateway: MacAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let to_one = Match::new().masked(Field::EthDst, 0, GROUP_BIT);
    let flow = table.flow(REST, Category::PodConnectivity).matching(to_one).marked(PktSource::Pod.mark());
    let flow = flow.set_eth_dst(gateway).load(PktDestination::Gateway.mark());
    Some(flow.goto(layout.first_of(Stage::Switching)))
}

/// The bit of a MAC address that is set in those of groups (IEEE 802).
const GROUP_BIT: u128 = 1 << 40;

/// What the gateway and the tunnel bring for somebody unknown goes where its MAC says: the host knows Pods by their link-local
/// addresses, too; what peers send has the tunnel's own MAC, and nothing goes back into the tunnel.
pub fn to_external(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.miss_flow(Category::PodConnectivity).load(PktDestination::Gateway.mark());
    Some(flow.goto(layout.first_of(Stage::Switching)))
}
