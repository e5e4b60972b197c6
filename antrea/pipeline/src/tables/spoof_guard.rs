//! SpoofGuard: lets packets pass only from the address and MAC that belong to the port they came from.
//!
//! Stage Validation. Matches in_port, dl_src, nw_src or ipv6_src, nd_target and, for IPv6 from the tunnel, tun_src or
//! tun_ipv6_src; loads ForeignSource; next tables: for IPv6 the IPv6 table, for IPv4 the one behind it, for the tunnel stage
//! ConntrackState; the rest is dropped. Filled by PodConnectivity (gateway, Pods, peers) and NetworkPolicy (the Node itself).

use std::net::{IpAddr, Ipv6Addr};

use antrea_openflow::{Flow, Match, TableId};
use antrea_types::{IpFamily, MacAddr, OfPort};

use crate::cookie::Category;
use crate::far_end::{FarEnd, InnerSource};
use crate::fields::{FROM_NODE, PktSource};
use crate::flow::{HIGH, HIGHEST, NORMAL};
use crate::layout::Layout;
use crate::model::HOST_LOCAL_MAC;
use crate::order::{Stage, Table};
use crate::tables::ipv6;

/// The table.
pub const TABLE: Table = Table::guard("SpoofGuard");

/// The Node forwards for others, so whatever comes from its gateway passes.
pub fn from_gateway(layout: &Layout, gateway: OfPort, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity);
    Some(flow.matching(Match::new().ip(family).in_port(gateway)).goto(after(layout, family)))
}

/// What the Node itself sends, where its source MAC says so. Only the gateway's port is believed, and Pods see the gateway's
/// own MAC.
pub fn from_node(layout: &Layout, gateway: OfPort, mac: MacAddr, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = Match::new().ip(family).in_port(gateway).eth_src(HOST_LOCAL_MAC);
    let flow = table.flow(HIGH, Category::PodConnectivity).matching(matching);
    Some(flow.load(FROM_NODE).set_eth_src(mac).goto(after(layout, family)))
}

/// What a Pod sends from one of its addresses.
pub fn from_pod(layout: &Layout, pod: OfPort, mac: MacAddr, address: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity);
    let matching = Match::new().in_port(pod).eth_src(mac).ip_src(address);
    Some(flow.matching(matching).goto(after(layout, IpFamily::of(&address))))
}

/// IPv6 from a Node of this cluster. For IPv4 there is [`super::classifier::from_far_end`].
pub fn from_far_end(layout: &Layout, from: FarEnd, source: InnerSource, category: Category) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = source.flow(&table, category, IpFamily::V6, from.matching());
    Some(flow.goto(layout.first_of(Stage::ConntrackState)))
}

/// A Pod says that it has one of its addresses, and what its MAC is. A kernel says so from that address (RFC 4861 §7.2.4).
pub fn advertised_by_pod(layout: &Layout, pod: OfPort, mac: MacAddr, address: Ipv6Addr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = ipv6::advertisement().in_port(pod).eth_src(mac).ip_src(IpAddr::V6(address));
    let flow = table.flow(HIGHEST, Category::PodConnectivity).matching(matching.nd_target(address));
    Some(flow.goto(after(layout, IpFamily::V6)))
}

/// A Pod says that it has another address: whoever believes that sends to the Pod what is somebody else's, or gives up an
/// address of its own (RFC 4862 §5.4.4).
pub fn advertised_wrongly(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(HIGH, Category::PodConnectivity).matching(ipv6::advertisement());
    Some(flow.marked(PktSource::Pod.mark()).done())
}

fn after(layout: &Layout, family: IpFamily) -> Option<TableId> {
    match family {
        IpFamily::V4 => layout.after(&ipv6::TABLE),
        IpFamily::V6 => layout.id(&ipv6::TABLE),
    }
}
