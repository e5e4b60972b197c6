//! What a ResourceExport of kind `Service` carries.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ServicePort, SessionAffinityConfig};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mcs::ServiceImportType;
use crate::object::is_default;
use crate::schema;

/// An exported Service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExportedService {
    /// The part of the Service's spec that matters to other clusters.
    pub service_spec: ExportedServiceSpec,
    /// What KEP-1645 needs beyond the spec; an addition to upstream's. Where it is missing the exporter is upstream's,
    /// whose exports have neither age nor type: the Service is of type ClusterSetIP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<ExportOrigin>,
    /// What members of a newer version may add, in tests of version skew.
    #[cfg(feature = "next")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The fields of a core ServiceSpec that are merged. Upstream members send `ports` alone. All others, which upstream's
/// schema has as well, are kept as they came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExportedServiceSpec {
    /// The ports. Other clusters take name, protocol, port and appProtocol; targetPort is the exporter's own matter.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = schema::without_descriptions)]
    pub ports: Vec<ServicePort>,
    /// `None` or `ClientIP`.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::session_affinity")]
    pub session_affinity: Option<String>,
    /// How long affinity lasts.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = schema::without_descriptions)]
    pub session_affinity_config: Option<SessionAffinityConfig>,
    /// The families of the Service's own addresses, the first one first: `IPv4`, `IPv6`.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::ip_families")]
    pub ip_families: Vec<String>,
    /// `Cluster` or `Local`.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::internal_traffic_policy")]
    pub internal_traffic_policy: Option<String>,
    /// A preference, as `PreferClose`.
    #[serde(skip_serializing_if = "is_default")]
    pub traffic_distribution: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Value>,
}

/// Where an exported Service comes from, for the rules of KEP-1645.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExportOrigin {
    /// When the ServiceExport was created, by the exporter's API server. The oldest export wins a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    /// Whether the Service has an address or is headless.
    #[serde(rename = "type")]
    pub service_type: ServiceImportType,
    /// Labels for the ServiceImport, as the ServiceExport's `exportedLabels`.
    #[serde(skip_serializing_if = "is_default")]
    pub labels: BTreeMap<String, String>,
    /// Annotations for the ServiceImport, as the ServiceExport's `exportedAnnotations`.
    #[serde(skip_serializing_if = "is_default")]
    pub annotations: BTreeMap<String, String>,
}
