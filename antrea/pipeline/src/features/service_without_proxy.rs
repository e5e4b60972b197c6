//! Services where Antrea does not proxy them: kube-proxy on the host does, and gets their traffic by the gateway.

use antrea_openflow::Flow;
use antrea_types::DualStack;
use ipnet::IpNet;

use crate::layout::Layout;
use crate::model::PipelineConfig;
use crate::order::Table;
use crate::service::Services;
use crate::tables::dnat;

/// The tables that the feature needs: none where no network of Services is known.
pub fn tables(config: &PipelineConfig) -> impl Iterator<Item = &'static Table> {
    cidrs(config).next().map(|_| &dnat::TABLE).into_iter()
}

/// The flows of the Service networks.
pub fn base_flows(layout: &Layout, config: &PipelineConfig) -> Vec<Flow> {
    cidrs(config).filter_map(|cidr| dnat::to_services(layout, cidr, config.gateway.of_port)).collect()
}

/// The networks of Services that the host serves.
fn cidrs(config: &PipelineConfig) -> impl Iterator<Item = IpNet> {
    let cidrs = match config.services {
        Services::ByHost { cidrs } => cidrs,
        Services::ByProxy(_) => DualStack::default(),
    };
    config.families().filter_map(move |family| cidrs.get(family).copied())
}
