//! The endpoints that an imported Service has in the cluster that exports it.

use std::collections::BTreeSet;

use antrea_shared_api::mcs::ServiceImportSpec;
use antrea_shared_api::multicluster::v1alpha1::EndpointSliceTemplate;
use antrea_types::IpFamily;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::local;
use crate::addresses::EndpointAddresses;
use crate::endpoints::Endpoints;
use crate::service::{Port, named};
use crate::wire::{export_endpoints, read_port};

/// The Pods of a Service that the cluster exports by its Pods, with the ports that are the same in what all clusters import.
/// They are reached in their own cluster whatever the others take. Nothing where its endpoints are no Pods.
pub fn pods_at_home(
    service: &Service,
    slices: &[&EndpointSlice],
    imported: &ServiceImportSpec,
    addresses: EndpointAddresses,
    families: &[IpFamily],
) -> Option<Vec<EndpointSliceTemplate>> {
    let spec = service.spec.as_ref().filter(|spec| local::exports_pods(spec, addresses))?;
    let imported: Vec<Port> = imported
        .ports
        .iter()
        .filter_map(|port| {
            let (name, protocol) = (Some(port.name.as_str()), Some(port.protocol.as_str()));
            read_port("", name, protocol, port.port, port.app_protocol.as_deref()).ok()
        })
        .collect();
    let is_imported = |port: &Port| imported.iter().any(|other| other.is(port));
    let names: BTreeSet<Box<str>> = local::ports(spec).filter(is_imported).map(|port| port.name).collect();
    let mut endpoints = Endpoints::default();
    for (ports, address, endpoint) in local::pods(slices, families).iter() {
        if let Some(ports) = named(ports, &names) {
            endpoints.insert(ports, address, endpoint.clone());
        }
    }
    Some(export_endpoints(&endpoints).endpoint_slices)
}
