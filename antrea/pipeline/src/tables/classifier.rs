//! Classifier: marks packets by where they came into the bridge. Drops packets from unknown ports, and tunnel packets that no
//! known peer has sent.
//!
//! Stage Classifier. Matches in_port and, for tunnel packets, tun_src, dl_dst and the source; loads PktSource, FromLocal or FromExternal,
//! RewriteMAC, ForeignSource, ByOwnGateway; next tables SpoofGuard and, for IPv4 from the tunnel, stage ConntrackState: the peer
//! has checked which of its Pods sends. Filled by PodConnectivity and Multicluster.
//!
//! This table matches the outer source of IPv4 only; SpoofGuard does it for IPv6. A failed lookup of the other family's field
//! puts both fields into the megaflow mask, which the kernel refuses ("Mixed IPv4 and IPv6 tunnel attributes"). Whether the
//! lookup happens depends on the order in which flows were added.

use std::net::IpAddr;

use antrea_openflow::{Flow, Match};
use antrea_types::{IpFamily, OfPort};

use crate::cookie::Category;
use crate::far_end::{FarEnd, InnerSource};
use crate::fields::{FROM_EXTERNAL, FROM_LOCAL, PktSource, REWRITE_MAC};
use crate::flow::{FlowBuilder, HIGH, HIGHEST, LOW, NORMAL};
use crate::layout::Layout;
use crate::multicluster::VIRTUAL_MAC;
use crate::order::{Stage, Table};
use crate::tables::spoof_guard;

/// The table.
pub const TABLE: Table = Table::guard("Classifier");

/// What the Node itself sends from its gateway's address.
pub fn from_node(layout: &Layout, gateway: OfPort, address: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(HIGH, Category::PodConnectivity);
    let flow = flow.matching(Match::new().in_port(gateway).ip_src(address));
    Some(flow.load(PktSource::Gateway.mark()).load(FROM_LOCAL).goto(table.next()))
}

/// What comes through the gateway from elsewhere.
pub fn from_gateway(layout: &Layout, gateway: OfPort) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity).matching(Match::new().in_port(gateway));
    Some(flow.load(PktSource::Gateway.mark()).load(FROM_EXTERNAL).goto(table.next()))
}

/// IPv4 from a Node of this cluster.
pub fn from_far_end(layout: &Layout, from: FarEnd, source: InnerSource, category: Category) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = source.flow(&table, category, IpFamily::V4, from.matching());
    Some(tunnelled(flow).goto(layout.first_of(Stage::ConntrackState)))
}

/// IPv4 from the Gateway of another cluster.
pub fn from_other_cluster(layout: &Layout, gateway: FarEnd, source: InnerSource) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = gateway.matching().eth_dst(VIRTUAL_MAC);
    let flow = source.flow(&table, Category::Multicluster, IpFamily::V4, matching);
    Some(tunnelled(flow).goto(layout.first_of(Stage::ConntrackState)))
}

/// IPv6 from the tunnel: SpoofGuard knows peers. Found before all flows with addresses of peers, so that none of those is
/// looked for.
pub fn ipv6_from_tunnel(layout: &Layout, tunnel: OfPort) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = Match::new().ip(IpFamily::V6).in_port(tunnel);
    let flow = table.flow(HIGHEST, Category::PodConnectivity).matching(matching);
    Some(tunnelled(flow).goto(layout.id(&spoof_guard::TABLE)))
}

/// The MAC addresses are the tunnel's, so they have to be written before a Pod gets the packet.
fn tunnelled(flow: FlowBuilder) -> FlowBuilder {
    flow.load(PktSource::Tunnel.mark()).load(REWRITE_MAC)
}

/// What a Pod sends.
pub fn from_pod(layout: &Layout, pod: OfPort) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(LOW, Category::PodConnectivity).matching(Match::new().in_port(pod));
    Some(flow.load(PktSource::Pod.mark()).load(FROM_LOCAL).goto(table.next()))
}
