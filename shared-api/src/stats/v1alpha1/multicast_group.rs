//! MulticastGroup: which Pods have joined a multicast group.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::api_object;
use crate::meta::{Column, ColumnFormat, ColumnType, Metadata, Printed};
use crate::object::null_as_default;
use crate::protobuf::message;

/// A multicast group; it has the name of its address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MulticastGroup {
    /// The name.
    pub metadata: Metadata,
    /// The address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The Pods. An empty list is written, too.
    #[serde(deserialize_with = "null_as_default")]
    pub pods: Vec<PodReference>,
}

/// A Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PodReference {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its Namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

message!(MulticastGroup { 1 metadata, 2 group, 3 pods });
message!(PodReference { 1 name, 2 namespace });
api_object!(MulticastGroup in super::API_VERSION, "multicastgroups");

/// How many Pods are printed.
const PRINTED_PODS: usize = 3;

impl Printed for MulticastGroup {
    fn columns() -> Vec<Column> {
        vec![
            Column::new(
                "Group",
                ColumnType::String,
                ColumnFormat::Name,
                "The address of the multicast group.",
            ),
            Column::new("Pods", ColumnType::String, ColumnFormat::Plain, "Pods that have joined the group."),
        ]
    }

    fn cells(&self) -> Vec<Value> {
        let names = self.pods.iter().map(|pod| format!("{}/{}", pod.namespace, pod.name));
        let mut pods = names.take(PRINTED_PODS).collect::<Vec<_>>().join(",");
        if let more @ 1.. = self.pods.len().saturating_sub(PRINTED_PODS) {
            pods.push_str(&format!(" + {more} more..."));
        }
        vec![self.group.clone().into(), pods.into()]
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
