//! Endpoints of ResourceExports and ResourceImports.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointSubset};

use super::{Problems, ports, values};
use crate::multicluster::v1alpha1::{
    AddressType, EndpointSliceTemplate, ExportedEndpoints, ImportedEndpoints, SliceEndpoint,
};

/// As many addresses as an endpoint of an EndpointSlice may have.
const MOST_ADDRESSES: usize = 100;

pub(crate) fn check_exported(problems: &mut Problems, endpoints: &ExportedEndpoints) {
    problems.each("subsets", &endpoints.subsets, check_subset);
    problems.each("endpointSlices", &endpoints.endpoint_slices, check_slice);
}

pub(crate) fn check_imported(problems: &mut Problems, endpoints: &ImportedEndpoints) {
    problems.each("subsets", &endpoints.subsets, check_subset);
    problems.each("clusters", &endpoints.clusters, |problems, cluster| {
        problems.check("clusterID", values::id(&cluster.cluster_id));
        problems.each("endpointSlices", &cluster.endpoint_slices, check_slice);
    });
}

fn check_subset(problems: &mut Problems, subset: &EndpointSubset) {
    problems.each("addresses", subset.addresses.as_deref().unwrap_or_default(), check_address);
    problems.each(
        "notReadyAddresses",
        subset.not_ready_addresses.as_deref().unwrap_or_default(),
        check_address,
    );
    ports::check(problems, subset.ports.as_deref().unwrap_or_default());
}

fn check_address(problems: &mut Problems, address: &EndpointAddress) {
    problems.check("ip", values::reachable_ip(&address.ip));
    problems.check(
        "hostname",
        address.hostname.as_deref().filter(|name| !name.is_empty()).and_then(values::dns_label),
    );
}

fn check_slice(problems: &mut Problems, slice: &EndpointSliceTemplate) {
    problems.check("addressType", values::one_of(slice.address_type.as_str(), AddressType::KNOWN));
    ports::check(problems, &slice.ports);
    problems.each("endpoints", &slice.endpoints, |problems, endpoint| {
        check_endpoint(problems, endpoint, &slice.address_type);
    });
}

fn check_endpoint(problems: &mut Problems, endpoint: &SliceEndpoint, family: &AddressType) {
    if endpoint.addresses.is_empty() {
        problems.check("addresses", values::missing());
    } else if endpoint.addresses.len() > MOST_ADDRESSES {
        problems.add("addresses", format!("there are more than {MOST_ADDRESSES}"));
    }
    for (index, address) in endpoint.addresses.iter().enumerate() {
        let problem = values::reachable_ip(address).or_else(|| of_family(address, family));
        problems.check(&format!("addresses[{index}]"), problem);
    }
    problems.check("hostname", endpoint.hostname.as_deref().and_then(values::dns_label));
}

fn of_family(address: &str, family: &AddressType) -> Option<String> {
    let other = match family {
        AddressType::IPv4 => IpAddr::is_ipv6,
        AddressType::IPv6 => IpAddr::is_ipv4,
        AddressType::Other(_) => return None,
    };
    let wrong = address.parse().is_ok_and(|address| other(&address));
    wrong.then(|| format!("{address:?} is not of the addressType {family}"))
}
