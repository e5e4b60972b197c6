//! ARPResponder: answers for the gateways of peers; other ARP is switched as usual.
//!
//! Stage Output, the last table of the ARP pipeline. Matches arp_op, arp_tpa. A Node routes to its peers' Pods through
//! the peers' gateways as if they were on its own link; the answer is the global virtual MAC, which L2ForwardingCalc
//! sends to the tunnel. Filled by PodConnectivity (peers), IPv4 only: for IPv6 the host has permanent neighbours.

use std::net::Ipv4Addr;

use antrea_openflow::{Flow, Match};
use antrea_types::GLOBAL_VIRTUAL_MAC;

use crate::cookie::Category;
use crate::flow::{LOW, NORMAL};
use crate::layout::Layout;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::guard("ARPResponder");

/// The `arp_op` of a request (RFC 826).
const REQUEST: u16 = 1;

/// Requests for a peer's gateway are turned into the answer, and go back where they came from.
pub fn for_peer_gateway(layout: &Layout, address: Ipv4Addr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = Match::new().arp_op(REQUEST).arp_tpa(address);
    let flow = table.flow(NORMAL, Category::PodConnectivity).matching(matching);
    Some(flow.answer_arp(address, GLOBAL_VIRTUAL_MAC).done())
}

/// All other ARP goes through the learning switch.
pub fn others(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    Some(table.flow(LOW, Category::PodConnectivity).matching(Match::new().arp()).normal().done())
}
