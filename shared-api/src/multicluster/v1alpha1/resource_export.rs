//! ResourceExport: what a cluster puts into the Common Area, one object for each Service, set of endpoints, and so on.

use k8s_openapi::ByteString;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ClusterInfo, ExportKind, ExportedEndpoints, ExportedService};
use crate::multicluster::Condition;
use crate::object::{is_default, object};
use crate::schema;

object!(
    /// What one cluster exports. The leader merges those of the same kind, Namespace and name into a ResourceImport.
    Namespaced ResourceExport in "multicluster.crd.antrea.io", "v1alpha1", "resourceexports" {
        /// What is exported.
        spec: ResourceExportSpec,
        /// What came of it; written by the leader.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<ResourceExportStatus>,
    }
);

/// What is exported: of the fields from `service` to `raw`, the one that belongs to `kind`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = rules)]
pub struct ResourceExportSpec {
    /// The exporter; empty where the admin of the ClusterSet made the object. It never changes.
    #[serde(rename = "clusterID", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::optional_id", transform = schema::constant)]
    pub cluster_id: String,
    /// The name of the exported object.
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// The Namespace of the exported object; for ClusterInfo that of the member's controller.
    #[serde(skip_serializing_if = "is_default")]
    pub namespace: String,
    /// What it is. It never changes.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = schema::constant)]
    pub kind: ExportKind,
    /// Of kind `Service`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ExportedService>,
    /// Of kind `Endpoints`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<ExportedEndpoints>,
    /// Of kind `ClusterInfo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_info: Option<ClusterInfo>,
    /// Of kind `ExternalEntity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_entity: Option<ExternalEntityExport>,
    /// Of kind `AntreaClusterNetworkPolicy`: the spec of a ClusterNetworkPolicy (`crd.antrea.io/v1beta1`), kept as it
    /// is. Members validate it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub cluster_network_policy: Option<Map<String, Value>>,
    /// Of kind `LabelIdentity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_identity: Option<LabelIdentityExport>,
    /// Anything else; nobody reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawResource>,
}

/// The field of the kind is there.
fn rules(schema: &mut Schema) {
    schema::require(schema, &["kind"]);
    for (kind, field) in [
        ("Service", "service"),
        ("Endpoints", "endpoints"),
        ("ClusterInfo", "clusterInfo"),
        ("AntreaClusterNetworkPolicy", "clusterNetworkPolicy"),
        ("LabelIdentity", "labelIdentity"),
        ("ExternalEntity", "externalEntity"),
    ] {
        schema::payload(schema, kind, field);
    }
}

/// An exported ExternalEntity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExternalEntityExport {
    /// The spec of an ExternalEntity (`crd.antrea.io/v1alpha2`), kept as it is.
    #[schemars(schema_with = "schema::any_object")]
    pub external_entity_spec: Map<String, Value>,
}

/// Labels that at least one Pod of the exporter has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelIdentityExport {
    /// `ns:KEY=VALUE,...&pod:KEY=VALUE,...` with sorted keys.
    #[serde(skip_serializing_if = "is_default")]
    pub normalized_label: String,
}

/// Bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawResource {
    /// In base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "byte"))]
    pub data: Option<ByteString>,
}

/// What came of an export.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceExportStatus {
    /// First `Succeeded` or `Failure`, which upstream takes for the state; then `Conflict`.
    #[serde(skip_serializing_if = "is_default")]
    pub conditions: Vec<Condition>,
    /// The generation that the conditions are about; an addition to upstream's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
