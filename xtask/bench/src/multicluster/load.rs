//! What members export, without the members: an admin writes it as they would.

use serde_json::{Value, json};

use super::clusters::{COMMON_AREA, NAMESPACE};
use super::objects::name;
use crate::api::Request;

/// The kinds of exports of a Service, and of the imports that they become.
pub(super) const KINDS: [&str; 2] = ["Service", "Endpoints"];

/// Which import: the Service, and one of [`KINDS`].
pub(super) type Key = (String, &'static str);

/// So many members with so many Services each, no two of which are of one name; 250 of both at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) workload: &'static str,
    pub(super) members: u32,
    pub(super) services: u32,
}

impl Load {
    /// The numbers of all Services.
    pub(super) fn all(self) -> std::ops::Range<u32> {
        0..self.members * self.services
    }

    /// How many imports they become.
    pub(super) fn imports(self) -> usize {
        self.all().len() * KINDS.len()
    }

    /// The request that exports a part of a Service.
    pub(super) fn create(self, number: u32, kind: &str) -> Request {
        Request::Create { path: exports(), object: self.export(number, kind) }
    }

    /// The request that withdraws it.
    pub(super) fn delete(self, number: u32, kind: &str) -> Request {
        Request::Delete { path: format!("{}/{}", exports(), self.export_name(number, kind)) }
    }

    fn member(self, number: u32) -> String {
        format!("m{}", number / self.services)
    }

    fn export_name(self, number: u32, kind: &str) -> String {
        format!("{}-{NAMESPACE}-{}-{}", self.member(number), name(number), kind.to_lowercase())
    }

    /// A ResourceExport as a member writes it.
    fn export(self, number: u32, kind: &str) -> Value {
        let (field, payload) = match kind {
            "Service" => ("service", service()),
            _ => ("endpoints", self.endpoints(number)),
        };
        json!({
            "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
            "kind": "ResourceExport",
            "metadata": {
                "name": self.export_name(number, kind),
                "labels": {
                    "sourceClusterID": self.member(number),
                    "sourceKind": kind,
                    "sourceName": name(number),
                    "sourceNamespace": NAMESPACE,
                },
                "finalizers": ["resourceexport.antrea.io/finalizer"],
            },
            "spec": {
                "clusterID": self.member(number),
                "name": name(number),
                "namespace": NAMESPACE,
                "kind": kind,
                field: payload,
            },
        })
    }

    fn endpoints(self, number: u32) -> Value {
        let address = format!("10.20.{}.{}", number / self.services, number % self.services + 1);
        json!({
            "subsets": [{"addresses": [{"ip": address}], "ports": [port()]}],
            "endpointSlices": [{"addressType": "IPv4", "ports": [port()], "endpoints": [{"addresses": [address]}]}],
        })
    }
}

/// The path of everything in the Common Area.
pub(super) fn area() -> String {
    format!("/apis/multicluster.crd.antrea.io/v1alpha1/namespaces/{COMMON_AREA}")
}

/// Which import an object is; nothing for those of other kinds.
pub(super) fn key(import: &Value) -> Option<Key> {
    let spec = &import["spec"];
    let kind = match spec["kind"].as_str() {
        Some("ServiceImport") => "Service",
        Some("Endpoints") => "Endpoints",
        _ => return None,
    };
    Some((spec["name"].as_str()?.to_owned(), kind))
}

fn exports() -> String {
    format!("{}/resourceexports", area())
}

fn service() -> Value {
    let origin = json!({"creationTimestamp": "2026-01-01T00:00:00Z", "type": "ClusterSetIP"});
    let spec = json!({"ports": [port()], "sessionAffinity": "None", "ipFamilies": ["IPv4"], "internalTrafficPolicy": "Cluster"});
    json!({"serviceSpec": spec, "origin": origin})
}

fn port() -> Value {
    json!({"name": "http", "port": 80, "protocol": "TCP"})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(members: u32, services: u32) {
        let load = Load { workload: "Load", members, services };
        let objects: Vec<Value> =
            load.all().flat_map(|number| KINDS.map(|kind| load.export(number, kind))).collect();
        let distinct = |pointer: &str| {
            let mut values: Vec<&str> =
                objects.iter().filter_map(|object| object.pointer(pointer)?.as_str()).collect();
            values.sort_unstable();
            values.dedup();
            u32::try_from(values.len()).unwrap()
        };
        assert_eq!(distinct("/metadata/name"), 2 * members * services);
        assert_eq!(distinct("/spec/clusterID"), members);
        assert_eq!(distinct("/spec/endpoints/subsets/0/addresses/0/ip"), members * services);
        assert_eq!(objects.len(), load.imports());
    }

    #[test]
    fn members_export_different_services_at_different_addresses() {
        check(10, 50);
        check(100, 100);
    }

    #[test]
    fn an_import_is_known_by_what_it_imports() {
        let import = |kind: &str| key(&json!({"spec": {"kind": kind, "name": "s00001"}}));
        assert_eq!(import("ServiceImport"), Some(("s00001".to_owned(), "Service")));
        assert_eq!(import("Endpoints"), Some(("s00001".to_owned(), "Endpoints")));
        assert_eq!(import("ClusterInfo"), None);
    }
}
