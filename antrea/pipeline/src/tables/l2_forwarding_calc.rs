//! L2ForwardingCalc: finds the port of a destination MAC.
//!
//! Stage Switching. Matches dl_dst; loads TargetOFPort and Output; next table: the following one. A packet to an unknown
//! MAC goes on without a port, and Output drops it. Filled by PodConnectivity (gateway, tunnel, Pods) and
//! Multicluster (tunnel).

use antrea_openflow::{Flow, Match};
use antrea_types::{MacAddr, OfPort};

use crate::cookie::Category;
use crate::fields::{OUTPUT_TO_OF_PORT, TARGET_OF_PORT};
use crate::flow::NORMAL;
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

fn found(layout: &Layout, category: Category, mac: MacAddr, port: OfPort) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, category).matching(Match::new().eth_dst(mac));
    Some(flow.load_bits(TARGET_OF_PORT, port.0).load(OUTPUT_TO_OF_PORT).goto(table.next()))
}
