//! A Service of this cluster as others are to see it.

use std::net::IpAddr;

use antrea_shared_api::mcs::ServiceExportSpec;
use antrea_types::IpFamily;
use k8s_openapi::api::core::v1::ServiceSpec;
use k8s_openapi::api::discovery::v1::{self as discovery, EndpointSlice};

use crate::addresses::EndpointAddresses;
use crate::endpoints::{Endpoint, Endpoints};
use crate::service::{ExportedService, Port, Properties, ServiceType};
use crate::wire::{properties_of, read_endpoint, read_port};

/// The one family that is carried between clusters.
pub(super) const CROSSES: IpFamily = IpFamily::V4;

/// Ports and properties.
pub(super) fn service(export: &ServiceExportSpec, spec: &ServiceSpec) -> ExportedService {
    let service_type = if is_headless(spec) { ServiceType::Headless } else { ServiceType::ClusterSetIp };
    let properties = Properties {
        service_type,
        labels: export.exported_labels.clone(),
        annotations: export.exported_annotations.clone(),
        ..properties_of(
            spec.session_affinity.as_deref(),
            spec.session_affinity_config.as_ref(),
            spec.internal_traffic_policy.as_deref(),
            spec.traffic_distribution.as_deref(),
            spec.ip_families.as_deref().unwrap_or_default(),
        )
    };
    ExportedService { ports: ports(spec).collect(), properties: Some(properties) }
}

/// The ports of a Service.
pub(super) fn ports(spec: &ServiceSpec) -> impl Iterator<Item = Port> {
    spec.ports.iter().flatten().filter_map(|port| {
        let (name, protocol) = (port.name.as_deref(), port.protocol.as_deref());
        read_port("", name, protocol, port.port, port.app_protocol.as_deref()).ok()
    })
}

/// Endpoints that other clusters can reach. Nothing where the Service ought to have a ClusterIP of that kind and has
/// none. A headless Service has its Pods for endpoints, whatever the others of the cluster have.
pub(super) fn endpoints(
    spec: &ServiceSpec,
    ports: &[Port],
    slices: &[&EndpointSlice],
    addresses: EndpointAddresses,
) -> Option<Endpoints> {
    let pods = pods(slices, &[CROSSES]);
    let Some(cluster_ips) = own_addresses(spec, addresses) else { return Some(pods) };
    if cluster_ips.is_empty() {
        return None;
    }
    // A Service that would refuse connections gets none from other clusters.
    let served = cluster_ips.into_iter().filter(|_| !pods.is_empty());
    Some(served.map(|ip| (ports.to_vec(), ip, Endpoint::default())).collect())
}

/// Whether the endpoints for other clusters are Pods.
pub(super) fn exports_pods(spec: &ServiceSpec, addresses: EndpointAddresses) -> bool {
    is_headless(spec) || addresses == EndpointAddresses::PodIps
}

/// Whether a client of the ClusterIP stays with its endpoint.
pub(super) fn keeps_clients(spec: &ServiceSpec) -> bool {
    spec.session_affinity.as_deref() == Some("ClientIP") && !is_headless(spec)
}

/// The ClusterIPs that a Service is exported by; nothing where it is by its Pods.
pub(super) fn own_addresses(spec: &ServiceSpec, addresses: EndpointAddresses) -> Option<Vec<IpAddr>> {
    (!exports_pods(spec, addresses)).then(|| cluster_ips(spec))
}

/// The Pods of all slices, whether they take connections or not.
pub(super) fn addresses_of_pods(slices: &[EndpointSlice]) -> Vec<IpAddr> {
    let carried = slices.iter().filter(|slice| is_carried(slice));
    carried.flat_map(|slice| &slice.endpoints).filter_map(address).collect()
}

fn is_carried(slice: &EndpointSlice) -> bool {
    slice.address_type == CROSSES.to_string()
}

fn address(endpoint: &discovery::Endpoint) -> Option<IpAddr> {
    endpoint.addresses.first()?.parse().ok()
}

fn is_headless(spec: &ServiceSpec) -> bool {
    spec.cluster_ip.as_deref() == Some("None")
}

fn cluster_ips(spec: &ServiceSpec) -> Vec<IpAddr> {
    let all = match &spec.cluster_ips {
        Some(all) if !all.is_empty() => all.as_slice(),
        _ => spec.cluster_ip.as_slice(),
    };
    all.iter().filter_map(|text| text.parse().ok()).filter(|ip| IpFamily::of(ip) == CROSSES).collect()
}

/// The endpoints of all slices of these families that take connections.
pub(super) fn pods(slices: &[&EndpointSlice], families: &[IpFamily]) -> Endpoints {
    let mut endpoints = Endpoints::default();
    let is_of =
        |slice: &&&EndpointSlice| families.iter().any(|family| slice.address_type == family.to_string());
    for slice in slices.iter().filter(is_of) {
        let ports: Vec<Port> = slice
            .ports
            .iter()
            .flatten()
            .filter_map(|port| {
                let (name, protocol) = (port.name.as_deref(), port.protocol.as_deref());
                read_port("", name, protocol, port.port?, port.app_protocol.as_deref()).ok()
            })
            .collect();
        let read = slice.endpoints.iter().filter_map(|one| {
            let endpoint =
                read_endpoint(one.conditions.as_ref(), one.hostname.as_deref(), one.zone.as_deref())?;
            Some((address(one)?, endpoint))
        });
        endpoints.add(ports, read);
    }
    endpoints
}
