//! The pipeline of a Node: from what the Node is to its flows, as a function.

use std::cmp::Reverse;

use antrea_openflow::{Flow, TableId};

use crate::features::{pod_connectivity, root, service_without_proxy};
use crate::layout::Layout;
use crate::model::{Peer, PipelineConfig, PodInterface};

/// The tables of a Node and the rules for filling them. The same input gives the same flows in the same order; their
/// cookies have round 0.
#[derive(Clone, Debug)]
pub struct Pipeline {
    config: PipelineConfig,
    layout: Layout,
}

impl Pipeline {
    /// Chooses and numbers the tables that the Node's features need.
    pub fn new(config: PipelineConfig) -> Self {
        let features = pod_connectivity::tables(&config).chain(service_without_proxy::tables(&config));
        let required = root::TABLES.iter().chain(features).map(|table| table.name).collect();
        Self { layout: Layout::new(&required), config }
    }

    /// The Node that the pipeline is for.
    pub fn config(&self) -> &PipelineConfig {
        &self.config
    }

    /// The realized tables, by number.
    pub fn table_names(&self) -> Vec<(TableId, &'static str)> {
        self.layout.names()
    }

    /// The flows that do not depend on Pods and peers, among them one in each table for packets that match no other.
    pub fn base_flows(&self) -> Vec<Flow> {
        let Self { config, layout } = self;
        let mut flows = root::base_flows(layout, config);
        flows.extend(pod_connectivity::base_flows(layout, config));
        flows.extend(service_without_proxy::base_flows(layout, config));
        flows.extend(root::miss_flows(layout));
        in_table_order(flows)
    }

    /// The flows of a Pod of this Node.
    pub fn pod_flows(&self, pod: &PodInterface) -> Vec<Flow> {
        in_table_order(pod_connectivity::pod_flows(&self.layout, &self.config, pod))
    }

    /// The flows of another Node.
    pub fn peer_flows(&self, peer: &Peer) -> Vec<Flow> {
        in_table_order(pod_connectivity::peer_flows(&self.layout, &self.config, peer))
    }
}

fn in_table_order(mut flows: Vec<Flow>) -> Vec<Flow> {
    flows.sort_by_key(|flow| (flow.table, Reverse(flow.priority)));
    flows
}
