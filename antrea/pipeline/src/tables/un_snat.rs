//! UnSNAT: gives answers to translated sources their real destination back, before their connection is looked up.
//!
//! Stage ConntrackState. Matches the destination: the addresses that [`super::snat`] makes sources; next table
//! ConntrackZone. What Gateways ask each other is no connection and ends here. Filled by Services and Multicluster.

use std::net::{IpAddr, Ipv4Addr};

use antrea_openflow::{Flow, FlowPriority, Match};
use antrea_types::{IpFamily, MacAddr};

use crate::cookie::Category;
use crate::fields::{FOREIGN_SOURCE, PktSource, snat_ct_zone};
use crate::flow::{FlowBuilder, HIGH, HIGHEST, LOW, NORMAL, REST, UNCLAIMED};
use crate::layout::Layout;
use crate::multicluster::VIRTUAL_MAC;
use crate::order::Table;
use crate::probe;

/// The table.
pub const TABLE: Table = Table::pass("UnSNAT");

/// To an address that the sources of connections to Services are translated to.
pub fn answers(layout: &Layout, address: IpAddr) -> Option<Flow> {
    translated(layout, Category::Service, address)
}

/// From another cluster to this Gateway.
pub fn from_other_clusters(layout: &Layout, gateway: Ipv4Addr) -> Option<Flow> {
    translated(layout, Category::Multicluster, gateway.into())
}

/// What the Gateway of this cluster sends on to Pods that packets reach without a tunnel, with the MAC of packets between
/// clusters.
pub fn from_own_gateway(layout: &Layout, gateway: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = between_clusters().tun_src(gateway);
    let flow = table.flow(LOW, Category::Multicluster).matching(matching).marked(PktSource::Tunnel.mark());
    Some(flow.goto(table.next()))
}

/// IPv6 from the tunnel bypasses [`from_own_gateway`], so that no lookup of an IPv6 packet touches `tun_src`
/// (see [`super::classifier`]).
pub fn ipv6_from_tunnel(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(UNCLAIMED, Category::Multicluster).matching(Match::new().ip(IpFamily::V6));
    Some(flow.marked(PktSource::Tunnel.mark()).goto(table.next()))
}

/// Packets for the Gateway from a cluster or Node that still takes this Node for it: forwarded to the current Gateway.
/// ForeignSource packets are excluded: they would leave with this Node's outer address and so pass as its own.
pub fn to_own_gateway(layout: &Layout, gateway: IpAddr) -> Option<Flow> {
    forwarded(layout, REST, between_clusters(), gateway)
}

/// The same for all that the Gateway of another cluster sends itself. It precedes [`answers`], as this Node asked it nothing and
/// must not be reached by the address that sources are translated to.
pub fn of_cluster_to_own_gateway(layout: &Layout, gateway: IpAddr, peer: Ipv4Addr) -> Option<Flow> {
    forwarded(layout, HIGH, between_clusters().ip_src(IpAddr::V4(peer)), gateway)
}

fn forwarded(layout: &Layout, priority: FlowPriority, matching: Match, gateway: IpAddr) -> Option<Flow> {
    let flow = layout.open(&TABLE)?.flow(priority, Category::Multicluster).matching(matching);
    let flow = flow.marked(PktSource::Tunnel.mark()).marked(FOREIGN_SOURCE.unset());
    Some(flow.set_tunnel_dst(gateway).dec_ttl().output_to_in_port().done())
}

fn between_clusters() -> Match {
    Match::new().ip(IpFamily::V4).eth_dst(VIRTUAL_MAC)
}

/// ICMP echo requests, and answers (RFC 792).
const REQUEST: u8 = 8;
const REPLY: u8 = 0;

/// The Gateway of another cluster asks whether this one is there: its request is turned into the answer and goes back into
/// the tunnel that it came from.
pub fn probe_of_gateway(layout: &Layout, mac: MacAddr, gateway: Ipv4Addr, peer: Ipv4Addr) -> Option<Flow> {
    let flow = echo(layout, REQUEST, gateway, peer)?;
    let flow = flow.set_eth_src(mac).set_eth_dst(VIRTUAL_MAC).set_tunnel_dst(peer.into());
    Some(flow.answer_echo(gateway, peer).done())
}

/// The Gateway of another cluster answers this one's agent.
pub fn answer_of_gateway(layout: &Layout, gateway: Ipv4Addr, peer: Ipv4Addr) -> Option<Flow> {
    let flow = echo(layout, REPLY, gateway, peer)?;
    Some(flow.limit(probe::METER).to_agent(probe::GATEWAY_ECHO_USERDATA).done())
}

fn echo(layout: &Layout, kind: u8, gateway: Ipv4Addr, peer: Ipv4Addr) -> Option<FlowBuilder> {
    let matching = Match::new().icmp(IpFamily::V4, kind, Some(0)).ip_src(IpAddr::V4(peer));
    let flow = layout.open(&TABLE)?.flow(HIGHEST, Category::Multicluster);
    let flow = flow.matching(matching.ip_dst(IpAddr::V4(gateway)));
    // Only from the peer itself: a packet that another sender forges is ForeignSource.
    Some(flow.marked(PktSource::Tunnel.mark()).marked(FOREIGN_SOURCE.unset()))
}

fn translated(layout: &Layout, category: Category, address: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, category).matching(Match::new().ip_dst(address));
    Some(flow.track(snat_ct_zone(IpFamily::of(&address)), table.next()).done())
}
