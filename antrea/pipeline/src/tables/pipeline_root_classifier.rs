//! PipelineRootClassifier: table 0, chooses the pipeline by protocol. Everything but ARP and IP is dropped.
//!
//! Stage Start. Matches the ethertype, nw_frag; next tables ARPSpoofGuard, Classifier. Filled by every Node.

use antrea_openflow::{Field, Flow, Match};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::flow::{HIGH, NORMAL};
use crate::layout::Layout;
use crate::order::Table;
use crate::tables::{arp_spoof_guard, classifier};

/// The table.
pub const TABLE: Table = Table::guard("PipelineRootClassifier");

/// ARP, to its pipeline.
pub fn arp(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::Default).matching(Match::new().arp());
    Some(flow.goto(layout.id(&arp_spoof_guard::TABLE)))
}

/// Packets of an IP family, to their pipeline.
pub fn ip(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::Default).matching(Match::new().ip(family));
    Some(flow.goto(layout.id(&classifier::TABLE)))
}

/// The bit of `nw_frag` that every fragment has, the first one, too.
const FRAGMENT: u128 = 1;

/// Fragments, where the userspace datapath would track them. It holds them back until they are complete or 15 seconds old.
/// Of more than 32 the rest goes on with the next packet that is tracked, and so do all that are too old: behind the
/// policies, where that packet is. And ovs-vswitchd 3.1 ends where the last fragment comes when some are gone already.
pub fn fragments(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = Match::new().ip(family).masked(Field::IpFrag, FRAGMENT, FRAGMENT);
    Some(table.flow(HIGH, Category::Default).matching(matching).done())
}
