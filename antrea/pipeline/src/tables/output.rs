//! Output: sends the packet out of the port that was found. What has no port is dropped.
//!
//! Stage Output, the last table. Matches Output, TargetOFPort and the mark Hairpin. Filled by PodConnectivity, Services
//! and Multicluster.

use antrea_openflow::{Flow, Match};
use antrea_types::OfPort;

use crate::cookie::Category;
use crate::fields::{HAIRPIN, OUTPUT_TO_OF_PORT, TARGET_OF_PORT};
use crate::flow::{HIGH, NORMAL};
use crate::layout::Layout;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::guard("Output");

/// Back to where it came from, which a switch does only when told in so many words.
pub fn back(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(HIGH, Category::Service).marked(OUTPUT_TO_OF_PORT).marked(HAIRPIN);
    Some(flow.output_to_in_port().done())
}

/// From one tunnel into another.
pub fn between_tunnels(layout: &Layout, tunnel: OfPort) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = Match::new().bits(TARGET_OF_PORT, tunnel.0).in_port(tunnel);
    let flow = table.flow(HIGH, Category::Multicluster).matching(matching);
    Some(flow.output_to_in_port().done())
}

/// To the port in the register.
pub fn to_port(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity).marked(OUTPUT_TO_OF_PORT);
    Some(flow.output_to(TARGET_OF_PORT).done())
}
