//! ConntrackZone: looks up the connection that a packet belongs to, and translates what is known to be translated.
//!
//! Stage ConntrackState. Matches the family, which chooses the zone, and the destination; next table ConntrackState.
//! Filled by PodConnectivity.

use std::net::IpAddr;

use antrea_openflow::{Flow, Match};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::fields::ct_zone;
use crate::flow::{HIGH, NORMAL};
use crate::layout::Layout;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("ConntrackZone");

/// Every packet of a family is tracked.
pub fn track(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity).matching(Match::new().ip(family));
    Some(flow.track(ct_zone(family), table.next()).done())
}

/// To the address of a Pod that is gone. A connection that packets go on being found for lives on.
pub fn to_former_pod(layout: &Layout, address: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    Some(table.flow(HIGH, Category::PodConnectivity).matching(Match::new().ip_dst(address)).done())
}
