//! What a ServiceExport says, in all versions.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::is_default;
use crate::schema;

/// What of the Service is exported beside itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceExportSpec {
    /// Labels that the ServiceImport gets.
    #[serde(skip_serializing_if = "is_default")]
    pub exported_labels: BTreeMap<String, String>,
    /// Annotations that the ServiceImport gets.
    #[serde(skip_serializing_if = "is_default")]
    pub exported_annotations: BTreeMap<String, String>,
}

/// What came of the export.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceExportStatus {
    /// `Valid`, `Ready` and `Conflict`.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = schema::without_descriptions, transform = schema::by_type)]
    pub conditions: Vec<Condition>,
}
