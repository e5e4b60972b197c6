//! What a ServiceImport says, in all versions.

use k8s_openapi::api::core::v1::SessionAffinityConfig;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::{is_default, null_as_default};
use crate::schema;
use crate::word::word;

word!(
    /// Whether a Service of the ClusterSet has an address.
    ServiceImportType {
        /// It has one in each cluster.
        ClusterSetIP = "ClusterSetIP",
        /// It has none: its name is that of its endpoints.
        Headless = "Headless",
    }
);

word!(
    /// Whether there are EndpointSlices for a ServiceImport.
    EndpointSliceObjects {
        /// There are.
        Present = "Present",
        /// There are none.
        Absent = "Absent",
    }
);

/// A Service of the ClusterSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["ports", "type"]))]
pub struct ServiceImportSpec {
    /// The ports of all exporters.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub ports: Vec<ServiceImportPort>,
    /// Its addresses in this cluster, one of a family.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::two_ips")]
    pub ips: Vec<String>,
    /// Whether it has an address.
    #[serde(rename = "type")]
    pub import_type: ServiceImportType,
    /// `None` or `ClientIP`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::session_affinity")]
    pub session_affinity: Option<String>,
    /// How long affinity lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::without_descriptions)]
    pub session_affinity_config: Option<SessionAffinityConfig>,
    /// The families of its addresses: `IPv4`, `IPv6`.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::ip_families")]
    pub ip_families: Vec<String>,
    /// `Cluster` or `Local`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::internal_traffic_policy")]
    pub internal_traffic_policy: Option<String>,
    /// A preference, as `PreferClose`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic_distribution: Option<String>,
}

/// One port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["port"]))]
pub struct ServiceImportPort {
    /// Its name, unique in the Service; a single port needs none.
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// `TCP`, `UDP` or `SCTP`; TCP when it is missing.
    #[serde(skip_serializing_if = "is_default")]
    pub protocol: String,
    /// What is spoken on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<String>,
    /// The number.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}

/// Where a Service of the ClusterSet comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceImportStatus {
    /// Whether there are EndpointSlices for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint_slice_objects: Option<EndpointSliceObjects>,
    /// The clusters that export it.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["cluster"]))]
    pub clusters: Vec<ServiceImportCluster>,
    /// `Ready`.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = schema::without_descriptions, transform = schema::by_type)]
    pub conditions: Vec<Condition>,
}

/// A cluster that exports a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ServiceImportCluster {
    /// Its ID, a DNS label.
    #[schemars(schema_with = "schema::dns_label")]
    pub cluster: String,
}
