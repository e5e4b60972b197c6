//! Services without selectors, and their endpoints: Pods that nobody has, on a Node that is not there.

use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::api::{Api, Request};

/// The Pod CIDR of the second Node in a cluster with [`POD_CIDR`] and [`NODE_MASK`]: room for 131,072 Pods.
const FIRST_ENDPOINT: Ipv4Addr = Ipv4Addr::new(10, 130, 0, 0);

/// What clusters are given, so that all endpoints fit on one Node.
pub(super) const POD_CIDR: &str = "c1:podCIDR=10.128.0.0/12";
pub(super) const NODE_MASK: &str = "c1:nodeMask=15";

/// So many Services with so many endpoints each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fleet {
    pub(super) services: u32,
    pub(super) endpoints: u32,
}

/// What an endpoint says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    NotReady,
}

impl Fleet {
    pub(super) fn create(self, api: &Api) -> Result<()> {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace()}});
        api.send(&Request::Create { path: "/api/v1/namespaces".into(), object: namespace })?;
        let services = (0..self.services)
            .map(|number| Request::Create { path: self.services_path(), object: service(number) });
        api.send_all(&services.collect::<Vec<_>>()).context("cannot create the Services")?;
        let slices = (0..self.services)
            .map(|number| Request::Create { path: self.slices_path(), object: self.slice(number) });
        api.send_all(&slices.collect::<Vec<_>>()).context("cannot create the EndpointSlices")
    }

    /// Removes all but the Namespace, which goes by itself.
    pub(super) fn remove(self, api: &Api) -> Result<()> {
        let name = |number| format!("{}/{}", self.services_path(), name(number));
        let deletions: Vec<Request> =
            (0..self.services).map(|number| Request::Delete { path: name(number) }).collect();
        api.send_all(&deletions).context("cannot delete the Services")?;
        api.send(&Request::Delete { path: self.slices_path() })?;
        api.send(&Request::Delete { path: format!("/api/v1/namespaces/{}", self.namespace()) })
    }

    /// The change after which the first endpoint of a Service is ready or not.
    pub(super) fn flip(self, number: u32, readiness: Readiness) -> Request {
        let mut endpoints = self.endpoints_of(number);
        if let Some(first) = endpoints.first_mut() {
            first["conditions"] = conditions(readiness);
        }
        let path = format!("{}/{}", self.slices_path(), name(number));
        Request::Merge { path, patch: json!({ "endpoints": endpoints }) }
    }

    /// The address of an endpoint: no other Service has it.
    pub(super) fn address(self, service: u32, endpoint: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(FIRST_ENDPOINT.to_bits() + service * self.endpoints + endpoint)
    }

    /// Its own: that of the fleet before takes a while to go.
    fn namespace(self) -> String {
        format!("bench-{}x{}", self.services, self.endpoints)
    }

    fn services_path(self) -> String {
        format!("/api/v1/namespaces/{}/services", self.namespace())
    }

    fn slices_path(self) -> String {
        format!("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices", self.namespace())
    }

    fn endpoints_of(self, service: u32) -> Vec<Value> {
        (0..self.endpoints)
            .map(|endpoint| {
                json!({
                    "addresses": [self.address(service, endpoint)],
                    "conditions": conditions(Readiness::Ready),
                    "nodeName": "elsewhere",
                })
            })
            .collect()
    }

    fn slice(self, number: u32) -> Value {
        json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": name(number), "labels": {
                "kubernetes.io/service-name": name(number),
                "endpointslice.kubernetes.io/managed-by": "bench",
            }},
            "addressType": "IPv4",
            "ports": [{"port": 8080, "protocol": "TCP"}],
            "endpoints": self.endpoints_of(number),
        })
    }
}

fn service(number: u32) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name(number)},
        "spec": {"ports": [{"port": 80, "targetPort": 8080, "protocol": "TCP"}]},
    })
}

fn conditions(readiness: Readiness) -> Value {
    let ready = readiness == Readiness::Ready;
    json!({"ready": ready, "serving": ready, "terminating": false})
}

fn name(number: u32) -> String {
    format!("s{number:05}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: Fleet = Fleet { services: 10_000, endpoints: 10 };

    #[test]
    fn every_endpoint_has_an_address_of_the_second_node() {
        assert_eq!(LARGE.address(0, 0), Ipv4Addr::new(10, 130, 0, 0));
        assert_eq!(LARGE.address(1, 2), Ipv4Addr::new(10, 130, 0, 12));
        assert_eq!(LARGE.address(9_999, 9), Ipv4Addr::new(10, 131, 134, 159));
    }

    #[test]
    fn a_flip_changes_one_endpoint_of_one_service() {
        let fleet = Fleet { services: 2, endpoints: 2 };
        let Request::Merge { path, patch } = fleet.flip(1, Readiness::NotReady) else { panic!("it patches") };
        assert_eq!(path, "/apis/discovery.k8s.io/v1/namespaces/bench-2x2/endpointslices/s00001");
        let ready: Vec<&Value> = patch["endpoints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|endpoint| &endpoint["conditions"]["ready"])
            .collect();
        assert_eq!(ready, [&json!(false), &json!(true)]);
        assert_eq!(patch["endpoints"][0]["addresses"], json!(["10.130.0.2"]));
    }

    #[test]
    fn a_slice_belongs_to_its_service() {
        let slice = LARGE.slice(7);
        assert_eq!(slice["metadata"]["labels"]["kubernetes.io/service-name"], service(7)["metadata"]["name"]);
        assert_eq!(slice["endpoints"].as_array().unwrap().len(), 10);
    }
}
