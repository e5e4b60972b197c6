//! Services without selectors that a member exports, with endpoints that are Pods which nobody has.

use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::clusters::{Cluster, NAMESPACE};
use crate::api::Request;

const EXPORTS: &str = "/apis/multicluster.x-k8s.io/v1beta1/namespaces/bench/serviceexports";
const SERVICES: &str = "/api/v1/namespaces/bench/services";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/bench/endpointslices";
const IMPORTS: &str = "/apis/multicluster.x-k8s.io/v1beta1/namespaces/bench/serviceimports";

/// The Services of one workload.
#[derive(Debug, Clone)]
pub(super) struct Fleet {
    pub(super) services: u32,
    /// How many endpoints each of them has.
    pub(super) endpoints: u32,
    /// Where its endpoints are: the Pod CIDR of the exporter.
    pub(super) pods: Ipv4Addr,
}

impl Fleet {
    pub(super) fn of(cluster: &Cluster, services: u32) -> Result<Self> {
        let cidr: ipnet::Ipv4Net = cluster.pod_cidr.parse().context("the Pod CIDR is not IPv4")?;
        Ok(Self { services, endpoints: 1, pods: cidr.network() })
    }

    /// The Services and their endpoints, which nobody else sees yet.
    pub(super) fn local(&self) -> Vec<Request> {
        let services = (0..self.services).map(|number| create(SERVICES, service(number)));
        services
            .chain(
                (0..self.services).map(|number| create(SLICES, self.slice(number, number * self.endpoints))),
            )
            .collect()
    }

    /// What an importer has of so many Services: each with a slice and a ServiceImport.
    pub(super) fn imported(&self) -> Vec<Request> {
        let imports = (0..self.services).map(|number| create(IMPORTS, import(number)));
        self.local().into_iter().chain(imports).collect()
    }

    /// The request that exports a Service.
    pub(super) fn export(number: u32) -> Request {
        create(
            EXPORTS,
            json!({
                "apiVersion": "multicluster.x-k8s.io/v1beta1",
                "kind": "ServiceExport",
                "metadata": {"name": name(number), "namespace": NAMESPACE},
            }),
        )
    }

    /// The request after which a Service has endpoint number `endpoint` instead of the one that it had.
    pub(super) fn move_endpoint(&self, number: u32, endpoint: u32) -> Request {
        let patch = json!({"endpoints": self.slice(number, endpoint)["endpoints"]});
        Request::Merge { path: format!("{SLICES}/{}", name(number)), patch }
    }

    /// The number of an endpoint that has this address.
    pub(super) fn endpoint(&self, address: &str) -> Option<u32> {
        let address: Ipv4Addr = address.parse().ok()?;
        address.to_bits().checked_sub(self.pods.to_bits() + FIRST)
    }

    /// Withdraws and removes all of them.
    pub(super) fn remove(&self) -> Vec<Request> {
        self.delete(&[EXPORTS, SERVICES, SLICES])
    }

    /// Removes Services that are not exported.
    pub(super) fn remove_local(&self) -> Vec<Request> {
        self.delete(&[SERVICES, SLICES])
    }

    /// Removes Services with their slices and ServiceImports that are nobody's.
    pub(super) fn remove_imported(&self) -> Vec<Request> {
        self.delete(&[SERVICES, SLICES, IMPORTS])
    }

    fn delete(&self, paths: &[&str]) -> Vec<Request> {
        let of_service = |number| {
            paths.iter().map(move |path| Request::Delete { path: format!("{path}/{}", name(number)) })
        };
        (0..self.services).flat_map(of_service).collect()
    }

    /// The endpoints of a Service, from number `first` on.
    fn slice(&self, number: u32, first: u32) -> Value {
        let endpoint = |endpoint: u32| {
            let address = Ipv4Addr::from_bits(self.pods.to_bits() + FIRST + endpoint);
            json!({"addresses": [address], "conditions": {"ready": true}})
        };
        let endpoints: Vec<Value> = (first..first + self.endpoints).map(endpoint).collect();
        json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": name(number), "labels": {
                "kubernetes.io/service-name": name(number),
                "endpointslice.kubernetes.io/managed-by": "bench",
            }},
            "addressType": "IPv4",
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
            "endpoints": endpoints,
        })
    }
}

/// The first address of a network is nobody's.
const FIRST: u32 = 1;

fn create(path: &str, object: Value) -> Request {
    Request::Create { path: path.to_owned(), object }
}

fn service(number: u32) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name(number)},
        "spec": {"ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}]},
    })
}

fn import(number: u32) -> Value {
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1beta1",
        "kind": "ServiceImport",
        "metadata": {"name": name(number), "namespace": NAMESPACE},
        "spec": {
            "type": "ClusterSetIP",
            "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
            "ips": ["10.20.0.1"],
        },
    })
}

pub(super) fn name(number: u32) -> String {
    format!("s{number:05}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_known_by_its_address() {
        let fleet = Fleet { services: 3, endpoints: 1, pods: Ipv4Addr::new(10, 12, 0, 0) };
        let Request::Merge { path, patch } = fleet.move_endpoint(2, 300) else { panic!("it patches") };
        assert_eq!(path, "/apis/discovery.k8s.io/v1/namespaces/bench/endpointslices/s00002");
        assert_eq!(patch["endpoints"][0]["addresses"], json!(["10.12.1.45"]));
        assert_eq!(fleet.endpoint("10.12.1.45"), Some(300));
        assert_eq!((fleet.endpoint("10.11.0.1"), fleet.endpoint("none")), (None, None));
    }

    #[test]
    fn a_fleet_is_removed_with_its_exports() {
        let fleet = Fleet { services: 50, endpoints: 1, pods: Ipv4Addr::LOCALHOST };
        assert_eq!((fleet.local().len(), fleet.remove().len()), (100, 150));
        assert_eq!((fleet.imported().len(), fleet.remove_imported().len()), (150, 150));
    }

    #[test]
    fn services_with_many_endpoints_share_none() {
        let fleet = Fleet { services: 50, endpoints: 100, pods: Ipv4Addr::new(10, 12, 0, 0) };
        let requests = fleet.local();
        let objects = requests.iter().filter_map(|request| match request {
            Request::Create { object, .. } => object["endpoints"].as_array(),
            _ => None,
        });
        let addresses: std::collections::BTreeSet<String> =
            objects.flatten().map(|endpoint| endpoint["addresses"][0].to_string()).collect();
        assert_eq!(addresses.len(), 5000);
    }
}
