//! IPv6: what IPv4 leaves to ARP goes through the learning switch; the rest takes the same way as IPv4, multicast too, which
//! leads nowhere: switched, it would pass all policies, and a Pod could tell others what their router is.
//!
//! Stage Validation. Matches ICMPv6 types 135 and 136; next table is that of stage ConntrackState.
//! Filled by PodConnectivity, IPv6 only.

use antrea_openflow::{Flow, Match};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::flow::NORMAL;
use crate::layout::Layout;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("IPv6");

/// The ICMPv6 types of neighbour solicitation and advertisement (RFC 4861 §4.3, §4.4).
const NEIGHBOUR_DISCOVERY: [u8; 2] = [135, 136];

/// Neighbour discovery between Pods and the gateway.
pub fn neighbour_discovery(layout: &Layout) -> Vec<Flow> {
    let Some(table) = layout.open(&TABLE) else { return Vec::new() };
    let flow = |kind| {
        let matching = Match::new().icmp(IpFamily::V6, kind, Some(0));
        table.flow(NORMAL, Category::PodConnectivity).matching(matching).normal().done()
    };
    NEIGHBOUR_DISCOVERY.into_iter().map(flow).collect()
}
