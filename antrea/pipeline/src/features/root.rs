//! What every Node has: the flows that choose a pipeline, and those for packets that match nothing else.

use antrea_openflow::Flow;
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::layout::{Layout, OpenTable};
use crate::model::{Datapath, PipelineConfig};
use crate::order::{Miss, Table};
use crate::tables::pipeline_root_classifier;

/// The tables that are always realized.
pub const TABLES: &[Table] = &[pipeline_root_classifier::TABLE];

/// The flows of the Root pipeline.
pub fn base_flows(layout: &Layout, config: &PipelineConfig) -> Vec<Flow> {
    let mut flows = Vec::new();
    for family in config.families() {
        flows.extend(pipeline_root_classifier::ip(layout, family));
        if family == IpFamily::V4 {
            flows.extend(pipeline_root_classifier::arp(layout));
        }
        if config.datapath() == Datapath::Userspace {
            flows.extend(pipeline_root_classifier::fragments(layout, family));
        }
    }
    flows
}

/// A flow for the unmatched packets of each table, except where a feature has its own.
pub fn miss_flows(layout: &Layout) -> Vec<Flow> {
    let flow = |table: OpenTable<'_>| match table.miss() {
        Miss::Next => Some(table.miss_flow(Category::Default).goto(table.next())),
        Miss::Drop => Some(table.miss_flow(Category::Default).done()),
        Miss::ByFeature => None,
    };
    layout.tables().filter_map(flow).collect()
}
