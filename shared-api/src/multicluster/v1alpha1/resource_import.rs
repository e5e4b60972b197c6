//! ResourceImport: what the leader made of the ResourceExports, for every member to import.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ClusterInfo, ImportKind, ImportedEndpoints, LabelIdentitySpec, RawResource};
use crate::mcs::{ServiceImportSpec, ServiceImportStatus};
use crate::multicluster::ClusterConditions;
use crate::object::{is_default, object};
use crate::schema;

object!(
    /// What members import.
    Namespaced ResourceImport in "multicluster.crd.antrea.io", "v1alpha1", "resourceimports" {
        /// What is imported.
        spec: ResourceImportSpec,
        /// What became of it in each cluster.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<ResourceImportStatus>,
    }
);

/// What is imported: of the fields from `serviceImport` to `raw`, the one that belongs to `kind`. Some keys are spelled
/// in lower case, and otherwise than those of ResourceExport.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = rules)]
pub struct ResourceImportSpec {
    /// The clusters that it is for; all when empty. A list, in spite of its key.
    #[serde(rename = "clusterID", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "schema::ids")]
    pub cluster_ids: Vec<String>,
    /// The name of the object.
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// The Namespace of the object; for ClusterInfo that of the Common Area.
    #[serde(skip_serializing_if = "is_default")]
    pub namespace: String,
    /// What it is.
    #[serde(skip_serializing_if = "is_default")]
    pub kind: ImportKind,
    /// Of kind `ServiceImport`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_import: Option<ImportedServiceImport>,
    /// Of kind `Endpoints`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<ImportedEndpoints>,
    /// Of kind `ClusterInfo`.
    #[serde(rename = "clusterinfo", skip_serializing_if = "Option::is_none")]
    pub cluster_info: Option<ClusterInfo>,
    /// Of kind `ExternalEntity`.
    #[serde(rename = "externalentity", skip_serializing_if = "Option::is_none")]
    pub external_entity: Option<ExternalEntityImport>,
    /// Of kind `AntreaClusterNetworkPolicy`: the spec of a ClusterNetworkPolicy (`crd.antrea.io/v1beta1`).
    #[serde(rename = "clusternetworkpolicy", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub cluster_network_policy: Option<Map<String, Value>>,
    /// Of kind `LabelIdentity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_identity: Option<LabelIdentitySpec>,
    /// Anything else; nobody reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawResource>,
}

/// The field of the kind is there.
fn rules(schema: &mut Schema) {
    schema::require(schema, &["kind"]);
    for (kind, field) in [
        ("ServiceImport", "serviceImport"),
        ("Endpoints", "endpoints"),
        ("ClusterInfo", "clusterinfo"),
        ("AntreaClusterNetworkPolicy", "clusternetworkpolicy"),
        ("LabelIdentity", "labelIdentity"),
        ("ExternalEntity", "externalentity"),
    ] {
        schema::payload(schema, kind, field);
    }
}

/// The ServiceImport that members make. Upstream members take `spec.ports` and `spec.type`; leaders of upstream fill
/// nothing else, ours all of it but `spec.ips`, which are each member's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ImportedServiceImport {
    /// Labels and annotations: those that the exporters export.
    pub metadata: TemplateMetadata,
    /// The merged Service.
    pub spec: ServiceImportSpec,
    /// `clusters` names those that export it.
    pub status: ServiceImportStatus,
    /// What leaders of a newer version may add, in tests of version skew.
    #[cfg(feature = "next")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The metadata of an object that is yet to be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateMetadata {
    /// Labels.
    #[serde(skip_serializing_if = "is_default")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "is_default")]
    pub annotations: BTreeMap<String, String>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Value>,
}

/// An imported ExternalEntity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExternalEntityImport {
    /// The spec of an ExternalEntity (`crd.antrea.io/v1alpha2`), kept as it is.
    #[serde(rename = "externalentityspec")]
    #[schemars(schema_with = "schema::any_object")]
    pub external_entity_spec: Map<String, Value>,
}

/// What became of an import.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceImportStatus {
    /// By cluster.
    #[serde(skip_serializing_if = "is_default")]
    pub cluster_statuses: Vec<ClusterConditions>,
}
