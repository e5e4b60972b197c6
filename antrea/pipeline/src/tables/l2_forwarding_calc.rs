//! L2ForwardingCalc: finds the port of a destination MAC.
//!
//! Stage Switching. Matches dl_dst; loads TargetOFPort and Output; next table: the following one. A packet to an unknown
//! MAC goes on without a port, and Output drops it; where policies are enforced, it is dropped here. Filled by
//! PodConnectivity (gateway, tunnel, Pods), NetworkPolicy and Multicluster (tunnel).

use antrea_openflow::{Flow, Match};
use antrea_types::{MacAddr, OfPort};

use crate::cookie::Category;
use crate::fields::{OUTPUT_TO_OF_PORT, TARGET_OF_PORT};
use crate::flow::{NORMAL, REST};
use crate::layout::Layout;
use crate::multicluster::VIRTUAL_MAC;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("L2ForwardingCalc");

/// The owner of `mac` is behind `port`.
pub fn to_port(layout: &Layout, mac: MacAddr, port: OfPort) -> Option<Flow> {
    found(layout, Category::PodConnectivity, mac, port)
}

/// Other clusters are behind the tunnel.
pub fn to_other_clusters(layout: &Layout, tunnel: OfPort) -> Option<Flow> {
    found(layout, Category::Multicluster, VIRTUAL_MAC, tunnel)
}

/// The owner of the MAC is nowhere. As with [`super::l3_forwarding::to_nobody`], nothing of this is to be remembered.
pub fn to_nobody(layout: &Layout) -> Option<Flow> {
    Some(layout.open(&TABLE)?.flow(REST, Category::NetworkPolicy).done())
}

fn found(layout: &Layout, category: Category, mac: MacAddr, port: OfPort) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, category).matching(Match::new().eth_dst(mac));
    Some(flow.load_bits(TARGET_OF_PORT, port.0).load(OUTPUT_TO_OF_PORT).goto(table.next()))
}
