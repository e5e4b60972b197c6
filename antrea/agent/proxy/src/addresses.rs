//! The addresses that a Service is served on, and what it asks for with them.

use std::net::{IpAddr, SocketAddr};

use antrea_pipeline::service::Destination;
use antrea_types::IpFamily;

use crate::claims::{Claim, Rank};
use crate::service::{Service, ServicePort};
use crate::settings::{ExternalServices, LoadBalancerAddresses, Settings};

/// A frontend before its groups have numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Where packets go to.
    pub destination: Destination,
    /// How strong the claim on it is.
    pub class: AddressClass,
}

/// What a Service's address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressClass {
    /// Its ClusterIP.
    ClusterIp,
    /// Its NodePort.
    NodePort,
    /// An external IP, or one of a load balancer.
    External,
}

/// The addresses of a Service's port in one family.
pub(crate) fn addresses(
    service: &Service,
    port: &ServicePort,
    family: IpFamily,
    settings: &Settings,
) -> Vec<Address> {
    let Some(cluster_ip) = service.cluster_ips.get(family) else { return Vec::new() };
    let at = |ip: &IpAddr| Destination::Address(SocketAddr::new(*ip, port.port));
    let mut all = vec![Address { destination: at(cluster_ip), class: AddressClass::ClusterIp }];
    let mut external: Vec<&IpAddr> = Vec::new();
    if settings.external == ExternalServices::ByAgent {
        let node_port = port.node_port.map(|port| Destination::NodePort { family, port });
        all.extend(node_port.map(|destination| Address { destination, class: AddressClass::NodePort }));
        external.extend(&service.external_ips);
    }
    if settings.load_balancer_addresses == LoadBalancerAddresses::Served {
        external.extend(&service.load_balancer_ips);
    }
    let of_family = external.into_iter().filter(|ip| IpFamily::of(ip) == family);
    all.extend(of_family.map(|ip| Address { destination: at(ip), class: AddressClass::External }));
    all
}

/// What a Service asks for.
pub(crate) fn claims(service: &Service, settings: &Settings) -> Vec<(Claim, Rank)> {
    let families = service.cluster_ips.families();
    let of_family = |family| {
        service.ports.iter().flat_map(move |port| {
            addresses(service, port, family, settings).into_iter().map(|address| {
                let rank = match address.class {
                    AddressClass::ClusterIp => Rank::ClusterIp,
                    AddressClass::NodePort | AddressClass::External => Rank::Other(service.created),
                };
                ((port.protocol, address.destination), rank)
            })
        })
    };
    families.flat_map(of_family).collect()
}
