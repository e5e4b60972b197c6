//! L3DecTTL: counts the hop of what was routed here.
//!
//! Stage Routing. Matches PktSource; next table: the following one. Filled by PodConnectivity.

use antrea_openflow::{Flow, Match};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::fields::PktSource;
use crate::flow::{HIGH, NORMAL};
use crate::layout::Layout;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("L3DecTTL");

/// The host has counted the hop already.
pub fn from_gateway(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(HIGH, Category::PodConnectivity).matching(Match::new().ip(family));
    Some(flow.marked(PktSource::Gateway.mark()).goto(table.next()))
}

/// Everything else.
pub fn others(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity).matching(Match::new().ip(family));
    Some(flow.dec_ttl().goto(table.next()))
}
