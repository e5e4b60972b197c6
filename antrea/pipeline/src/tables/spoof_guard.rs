//! SpoofGuard: lets packets pass only from the address and MAC that belong to the port they came from.
//!
//! Stage Validation. Matches in_port, dl_src, nw_src or ipv6_src; next tables: for IPv6 the IPv6 table, for IPv4 the
//! one behind it; the rest is dropped. Filled by PodConnectivity (gateway, Pods) and NetworkPolicy (the Node itself).

use std::net::{IpAddr, Ipv6Addr};

use antrea_openflow::{Flow, Match, TableId};
use antrea_types::{IpFamily, MacAddr, OfPort};
use ipnet::{IpNet, Ipv6Net};

use crate::cookie::Category;
use crate::fields::FROM_NODE;
use crate::flow::{HIGH, NORMAL};
use crate::layout::Layout;
use crate::model::HOST_LOCAL_MAC;
use crate::order::Table;
use crate::tables::ipv6;

/// The table.
pub const TABLE: Table = Table::guard("SpoofGuard");

/// Link-local unicast addresses, `fe80::/10` (RFC 4291 §2.5.6).
const LINK_LOCAL: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10);

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

/// Link-local addresses belong to the kernel of a Pod and are not known here; part of neighbour discovery comes from them.
pub fn from_link_local(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity);
    Some(flow.matching(Match::new().ip_src(IpNet::V6(LINK_LOCAL))).goto(after(layout, IpFamily::V6)))
}

fn after(layout: &Layout, family: IpFamily) -> Option<TableId> {
    match family {
        IpFamily::V4 => layout.after(&ipv6::TABLE),
        IpFamily::V6 => layout.id(&ipv6::TABLE),
    }
}
