//! Endpoints of a leader of upstream's: subsets of all clusters one after the other, each endpoint any number of times.

use antrea_shared_api::multicluster::v1alpha1::{EndpointSliceTemplate, ImportedEndpoints, SliceEndpoint};
use antrea_types::IpFamily;
use k8s_openapi::api::core::v1::EndpointSubset;
use k8s_openapi::api::discovery::v1::EndpointPort;

/// The subsets, each once for each family.
pub(super) fn templates(endpoints: &ImportedEndpoints) -> Vec<EndpointSliceTemplate> {
    let of = |subset| IpFamily::ALL.map(|family| template(subset, family));
    endpoints.subsets.iter().flat_map(of).collect()
}

fn template(subset: &EndpointSubset, family: IpFamily) -> EndpointSliceTemplate {
    let addresses = subset.addresses.iter().flatten().map(|address| SliceEndpoint {
        addresses: vec![address.ip.clone()],
        hostname: address.hostname.clone(),
        ..SliceEndpoint::default()
    });
    let port = |port: &k8s_openapi::api::core::v1::EndpointPort| EndpointPort {
        name: port.name.clone(),
        protocol: port.protocol.clone(),
        port: Some(port.port),
        app_protocol: port.app_protocol.clone(),
    };
    EndpointSliceTemplate {
        address_type: family.to_string().into(),
        ports: subset.ports.iter().flatten().map(port).collect(),
        endpoints: addresses.collect(),
    }
}
