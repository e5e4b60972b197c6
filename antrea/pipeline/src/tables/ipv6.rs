//! IPv6: what IPv4 leaves to ARP goes through the learning switch; the rest takes the same way as IPv4.
//!
//! Stage Validation. Matches ICMPv6 types 135 and 136 and multicast; next table is that of stage ConntrackState.
//! Filled by PodConnectivity, IPv6 only.

use std::net::Ipv6Addr;

use antrea_openflow::{Flow, Match};
use antrea_types::IpFamily;
use ipnet::{IpNet, Ipv6Net};

use crate::cookie::Category;
use crate::flow::NORMAL;
use crate::layout::Layout;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("IPv6");

/// The ICMPv6 types of neighbour solicitation and advertisement (RFC 4861 §4.3, §4.4).
const NEIGHBOUR_DISCOVERY: [u8; 2] = [135, 136];

/// All multicast, `ff00::/8` (RFC 4291 §2.7).
const MULTICAST: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8);

/// Neighbour discovery between Pods and the gateway.
pub fn neighbour_discovery(layout: &Layout) -> Vec<Flow> {
    let Some(table) = layout.open(&TABLE) else { return Vec::new() };
    let flow = |kind| {
        let matching = Match::new().icmp(IpFamily::V6, kind, Some(0));
        table.flow(NORMAL, Category::PodConnectivity).matching(matching).normal().done()
    };
    NEIGHBOUR_DISCOVERY.into_iter().map(flow).collect()
}

/// Multicast, listener reports among it.
pub fn multicast(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity);
    Some(flow.matching(Match::new().ip_dst(IpNet::V6(MULTICAST))).normal().done())
}
