//! PipelineRootClassifier: table 0, chooses the pipeline by protocol. Everything but ARP and IP is dropped.
//!
//! Stage Start. Matches the ethertype; next tables ARPSpoofGuard, Classifier. Filled by every Node.

use antrea_openflow::{Flow, Match};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::flow::NORMAL;
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
