//! Services where Antrea does not proxy them: kube-proxy on the host does, and gets their traffic by the gateway.

use antrea_openflow::Flow;

use crate::layout::Layout;
use crate::model::PipelineConfig;
use crate::order::Table;
use crate::tables::dnat;

/// The tables that the feature needs: none where no network of Services is known.
pub fn tables(config: &PipelineConfig) -> impl Iterator<Item = &'static Table> {
    let known = config.families().any(|family| config.service_cidrs.get(family).is_some());
    known.then_some(&dnat::TABLE).into_iter()
}

/// The flows of the Service networks.
pub fn base_flows(layout: &Layout, config: &PipelineConfig) -> Vec<Flow> {
    let cidrs = config.families().filter_map(|family| config.service_cidrs.get(family));
    cidrs.filter_map(|cidr| dnat::to_services(layout, *cidr, config.gateway.of_port)).collect()
}
