//! The Services of these tests: what is in a cluster, and whether it is exported.

use antrea_e2e::pods::PORT;
use serde_json::{Value, json};

use super::servers::LABEL;

/// The Namespace of everything here, in all clusters.
pub(super) const NAMESPACE: &str = "standard";

/// A label and an annotation of every Service and every ServiceExport, which no other cluster is to see.
pub(super) const LEFT_AT_HOME: &str = "left-at-home";

/// What B and C have.
pub(super) struct Services {
    pub(super) b: Vec<Service>,
    pub(super) c: Vec<Service>,
}

/// A Service, and its ServiceExport where it has one.
#[derive(Debug, Clone)]
pub(super) struct Service {
    name: &'static str,
    spec: Value,
    export: Option<Value>,
}

impl Service {
    /// Port `http`, 80, of all servers of its cluster; exported.
    pub(super) fn exported(name: &'static str) -> Self {
        let spec = json!({ "selector": { LABEL: "yes" }, "ports": [port("http", "TCP", 80)] });
        Self { name, spec, export: Some(json!({})) }
    }

    /// The same with another value of a field of its `spec`.
    pub(super) fn with(mut self, field: &str, value: Value) -> Self {
        self.spec[field] = value;
        self
    }

    /// The same without address.
    pub(super) fn headless(self) -> Self {
        self.with("clusterIP", json!("None"))
    }

    /// The same with a name of another domain instead of servers.
    pub(super) fn external(mut self) -> Self {
        self.spec = external_name();
        self
    }

    /// The same with this `spec` of its ServiceExport.
    pub(super) fn exported_with(self, spec: Value) -> Self {
        Self { export: Some(spec), ..self }
    }

    /// The same without ServiceExport.
    pub(super) fn at_home(self) -> Self {
        Self { export: None, ..self }
    }

    /// What is applied for it.
    pub(super) fn objects(&self) -> Vec<Value> {
        let service = self.object("v1", "Service", &self.spec);
        let export = |spec| self.object("multicluster.x-k8s.io/v1beta1", "ServiceExport", spec);
        [service].into_iter().chain(self.export.as_ref().map(export)).collect()
    }

    fn object(&self, version: &str, kind: &str, spec: &Value) -> Value {
        let metadata = json!({
            "name": self.name,
            "namespace": NAMESPACE,
            "labels": { LEFT_AT_HOME: "yes" },
            "annotations": { LEFT_AT_HOME: "yes" },
        });
        json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec })
    }
}

/// A port of a Service, which leads to that of its servers.
pub(super) fn port(name: &str, protocol: &str, number: u16) -> Value {
    json!({ "name": name, "protocol": protocol, "port": number, "targetPort": PORT })
}

/// The fields of a `spec` that lead to another domain.
pub(super) fn external_name() -> Value {
    json!({ "type": "ExternalName", "externalName": "example.com" })
}

/// What it is called in the ClusterSet.
pub(super) fn name_of(service: &str) -> String {
    format!("{service}.{NAMESPACE}.svc.clusterset.local")
}

/// What is made for it where it is imported.
pub(super) fn derived(service: &str) -> String {
    format!("antrea-mc-{service}")
}
