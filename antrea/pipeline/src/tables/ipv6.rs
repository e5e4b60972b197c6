//! IPv6: what IPv4 leaves to ARP goes through the learning switch; the rest takes the same way as IPv4, multicast too, which
//! leads nowhere: switched, it would pass all policies, and a Pod could tell others what their router is.
//!
//! Stage Validation. Matches ICMPv6 types 135 and 136, nw_ttl, ipv6_dst; next table is that of stage ConntrackState.
//! Filled by PodConnectivity, IPv6 only.

use std::net::Ipv6Addr;

use antrea_openflow::{Field, Flow, Match};
use antrea_types::IpFamily;
use ipnet::{IpNet, Ipv6Net};

use crate::cookie::Category;
use crate::flow::NORMAL;
use crate::layout::Layout;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("IPv6");

/// The ICMPv6 types of neighbour solicitation and advertisement (RFC 4861 §4.3, §4.4).
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;

/// What has passed no router has this hop limit; kernels drop neighbour discovery with another one (RFC 4861 §7.1).
const NO_ROUTER_PASSED: u8 = 255;

/// Link-local addresses, unicast and multicast (RFC 4291 §2.5.6, §2.7).
pub(crate) const LINK_LOCAL: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10);
const LINK_LOCAL_GROUPS: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0), 16);

/// A neighbour advertisement.
pub(super) fn advertisement() -> Match {
    Match::new().icmp(IpFamily::V6, ADVERTISEMENT, Some(0))
}

/// Neighbour discovery between Pods and the gateway. To anybody else it would be data like other data, which the host sends
/// on, past all policies.
pub fn neighbour_discovery(layout: &Layout, pods: Option<IpNet>) -> Vec<Flow> {
    let Some(table) = layout.open(&TABLE) else { return Vec::new() };
    let flow = |kind: &Match, to| {
        let matching = kind.clone().ip_dst(to).exact(Field::IpTtl, NO_ROUTER_PASSED);
        table.flow(NORMAL, Category::PodConnectivity).matching(matching).normal().done()
    };
    let kinds = [Match::new().icmp(IpFamily::V6, SOLICITATION, Some(0)), advertisement()];
    let on_link: Vec<IpNet> =
        [LINK_LOCAL, LINK_LOCAL_GROUPS].map(IpNet::V6).into_iter().chain(pods).collect();
    kinds.iter().flat_map(|kind| on_link.iter().map(move |to| flow(kind, *to))).collect()
}
