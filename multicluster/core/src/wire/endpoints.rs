//! Endpoints in ResourceExports and ResourceImports.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use antrea_shared_api::multicluster::v1alpha1 as api;
use antrea_types::IpFamily;
use k8s_openapi::api::core::v1::{EndpointAddress, EndpointSubset};
use k8s_openapi::api::discovery::v1::EndpointConditions;

use super::Problem;
use super::port::{read_port, slice_port, subset_port, too_many};
use super::problem::Problems;
use crate::endpoints::{Endpoint, EndpointState, Endpoints};
use crate::limits::{MOST_ENDPOINT_PORTS, MOST_PORT_LISTS, MOST_PORTS_READ};
use crate::merge::MergedEndpoints;
use crate::service::Port;

/// Reads `spec.endpoints`: `endpointSlices` where there are some, upstream's `subsets` otherwise.
pub(super) fn read(exported: &api::ExportedEndpoints) -> (Endpoints, Vec<Problem>) {
    let mut reader = Reader::default();
    if exported.endpoint_slices.is_empty() {
        exported.subsets.iter().enumerate().for_each(|(index, subset)| reader.subset(index, subset));
    } else {
        exported.endpoint_slices.iter().enumerate().for_each(|(index, slice)| reader.slice(index, slice));
    }
    (reader.endpoints, reader.problems.into_vec())
}

#[derive(Default)]
struct Reader {
    endpoints: Endpoints,
    problems: Problems,
    /// How many pairs of an endpoint and a port there were so far.
    pairs: usize,
    /// The lists of ports that count.
    lists: BTreeSet<Vec<Port>>,
    /// How many subsets or slices have others.
    with_others: usize,
}

impl Reader {
    fn subset(&mut self, index: usize, subset: &EndpointSubset) {
        let path = format!("spec.endpoints.subsets[{index}]");
        let ports = self.ports(&path, subset.ports.as_deref().unwrap_or_default(), |path, port| {
            let (name, protocol) = (port.name.as_deref(), port.protocol.as_deref());
            Some(read_port(path, name, protocol, port.port, port.app_protocol.as_deref()))
        });
        let Some(ports) = self.counting(ports) else { return };
        let mut endpoints = Vec::new();
        for (index, address) in subset.addresses.iter().flatten().enumerate() {
            let hostname = address.hostname.as_deref().map(Into::into);
            let read = self.address(&address.ip, ports.len(), || format!("{path}.addresses[{index}].ip"));
            endpoints.extend(read.map(|address| (address, Endpoint { hostname, ..Endpoint::default() })));
        }
        self.endpoints.add(ports, endpoints);
    }

    fn slice(&mut self, index: usize, slice: &api::EndpointSliceTemplate) {
        let path = format!("spec.endpoints.endpointSlices[{index}]");
        let ports = self.ports(&path, &slice.ports, |path, port| {
            let (name, protocol) = (port.name.as_deref(), port.protocol.as_deref());
            Some(read_port(path, name, protocol, port.port?, port.app_protocol.as_deref()))
        });
        let Some(ports) = self.counting(ports) else { return };
        let mut endpoints = Vec::new();
        for (index, one) in slice.endpoints.iter().enumerate() {
            let read = read_endpoint(one.conditions.as_ref(), one.hostname.as_deref(), one.zone.as_deref());
            let (Some(endpoint), Some(address)) = (read, one.addresses.first()) else { continue };
            let path = || format!("{path}.endpoints[{index}].addresses[0]");
            let address = self.address(address, ports.len(), path);
            endpoints.extend(address.map(|address| (address, endpoint)));
        }
        self.endpoints.add(ports, endpoints);
    }

    fn ports<T>(
        &mut self,
        path: &str,
        listed: &[T],
        read: impl Fn(&str, &T) -> Option<Result<Port, Problem>>,
    ) -> Vec<Port> {
        self.problems.extend(too_many(path, listed.len()));
        let mut ports = Vec::new();
        for (index, port) in listed.iter().take(MOST_PORTS_READ).enumerate() {
            match read(&format!("{path}.ports[{index}]"), port) {
                Some(Ok(port)) => ports.push(port),
                Some(Err(problem)) => self.problems.push(problem),
                None => {}
            }
        }
        ports
    }

    /// A list of ports, in one order; nothing where there are too many others before it.
    fn counting(&mut self, mut ports: Vec<Port>) -> Option<Vec<Port>> {
        ports.sort();
        ports.dedup();
        if self.lists.contains(&ports) {
            return Some(ports);
        }
        if self.lists.len() < MOST_PORT_LISTS {
            self.lists.insert(ports.clone());
            return Some(ports);
        }
        self.with_others += 1;
        if self.with_others == 1 {
            let text =
                format!("there are more than {MOST_PORT_LISTS} lists of ports, of which the first count");
            self.problems.push(Problem::new("spec.endpoints", text));
        }
        None
    }

    /// The address of an endpoint with so many ports.
    fn address(&mut self, address: &str, ports: usize, path: impl FnOnce() -> String) -> Option<IpAddr> {
        let before = self.pairs;
        self.pairs += ports.max(1);
        if self.pairs > MOST_ENDPOINT_PORTS {
            if before <= MOST_ENDPOINT_PORTS {
                let text = format!(
                    "there are more than {MOST_ENDPOINT_PORTS} endpoints times ports, of which the first count"
                );
                self.problems.push(Problem::new("spec.endpoints", text));
            }
            return None;
        }
        let read = address.parse::<IpAddr>().ok();
        if read.is_none() {
            self.problems.push(Problem::new(path(), format_args!("{address:?} is no IP address")));
        }
        read
    }
}

/// An endpoint of an EndpointSlice; nothing where no connections go to it. What says nothing of being ready is ready.
pub(crate) fn read_endpoint(
    conditions: Option<&EndpointConditions>,
    hostname: Option<&str>,
    zone: Option<&str>,
) -> Option<Endpoint> {
    let ready = conditions.and_then(|conditions| conditions.ready).unwrap_or(true);
    let serving = conditions.and_then(|conditions| conditions.serving).unwrap_or(ready);
    let terminating = conditions.and_then(|conditions| conditions.terminating).unwrap_or(false);
    let state = match (ready, serving && terminating) {
        (true, _) => EndpointState::Ready,
        (false, true) => EndpointState::Terminating,
        (false, false) => return None,
    };
    Some(Endpoint { state, hostname: hostname.map(Into::into), zone: zone.map(Into::into) })
}

/// The conditions of an endpoint; none for one that is ready.
fn write_state(state: EndpointState) -> Option<EndpointConditions> {
    (state == EndpointState::Terminating).then_some(EndpointConditions {
        ready: Some(false),
        serving: Some(true),
        terminating: Some(true),
    })
}

/// `spec.endpoints` of a ResourceExport: for every reader the ready IPv4 ones, and for ours all of them.
pub fn export_endpoints(endpoints: &Endpoints) -> api::ExportedEndpoints {
    let ready = |(address, endpoint): (&IpAddr, &Endpoint)| {
        (endpoint.state == EndpointState::Ready).then_some(*address)
    };
    let subsets = endpoints
        .sets()
        .filter(|(family, ..)| *family == IpFamily::V4)
        .map(|(_, ports, endpoints)| subset(ports, endpoints.iter().filter_map(ready)))
        .filter(|subset| subset.addresses.as_ref().is_some_and(|addresses| !addresses.is_empty()));
    api::ExportedEndpoints { subsets: subsets.collect(), endpoint_slices: slices(endpoints) }
}

/// `spec.endpoints` of a ResourceImport: flat for upstream members, by source cluster for ours.
pub fn import_endpoints(merged: &MergedEndpoints) -> api::ImportedEndpoints {
    let flat: BTreeMap<Vec<Port>, BTreeSet<IpAddr>> = merged.flat();
    let clusters = merged.clusters.iter().map(|(cluster, endpoints)| api::ClusterEndpoints {
        cluster_id: cluster.to_string(),
        endpoint_slices: slices(endpoints),
    });
    api::ImportedEndpoints {
        subsets: flat.iter().map(|(ports, addresses)| subset(ports, addresses.iter().copied())).collect(),
        clusters: clusters.collect(),
    }
}

fn subset(ports: &[Port], addresses: impl Iterator<Item = IpAddr>) -> EndpointSubset {
    let address = |ip: IpAddr| EndpointAddress { ip: ip.to_string(), ..Default::default() };
    EndpointSubset {
        addresses: Some(addresses.map(address).collect()),
        ports: (!ports.is_empty()).then(|| ports.iter().map(subset_port).collect()),
        not_ready_addresses: None,
    }
}

fn slices(endpoints: &Endpoints) -> Vec<api::EndpointSliceTemplate> {
    let endpoint = |(address, endpoint): (&IpAddr, &Endpoint)| api::SliceEndpoint {
        addresses: vec![address.to_string()],
        hostname: endpoint.hostname.as_deref().map(str::to_owned),
        zone: endpoint.zone.as_deref().map(str::to_owned),
        conditions: write_state(endpoint.state),
    };
    let slice = |(family, ports, endpoints): (IpFamily, &[Port], &BTreeMap<IpAddr, Endpoint>)| {
        api::EndpointSliceTemplate {
            address_type: family.to_string().into(),
            ports: ports.iter().map(slice_port).collect(),
            endpoints: endpoints.iter().map(endpoint).collect(),
        }
    };
    endpoints.sets().map(slice).collect()
}
