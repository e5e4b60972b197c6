//! Endpoints of exported Services: flat as upstream has them, and by source cluster with everything EndpointSlices need.

use k8s_openapi::api::core::v1::EndpointSubset;
use k8s_openapi::api::discovery::v1::{EndpointConditions, EndpointPort};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::is_default;
use crate::schema;
use crate::word::word;

/// Endpoints that one cluster exports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExportedEndpoints {
    /// ClusterIPs or Pod IPs, IPv4. All that upstream knows.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = schema::without_descriptions)]
    pub subsets: Vec<EndpointSubset>,
    /// The same and more: both families, hostnames, states. An addition to upstream's; where it is missing, `subsets`
    /// is what there is.
    #[serde(skip_serializing_if = "is_default")]
    pub endpoint_slices: Vec<EndpointSliceTemplate>,
}

/// Endpoints of a Service in all clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ImportedEndpoints {
    /// The subsets of all clusters, one after the other. All that upstream knows.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = schema::without_descriptions)]
    pub subsets: Vec<EndpointSubset>,
    /// The same by source cluster, in the order of cluster IDs. An addition to upstream's; where it is missing the
    /// leader is upstream's, and nobody knows which cluster an endpoint is in.
    #[serde(skip_serializing_if = "is_default")]
    pub clusters: Vec<ClusterEndpoints>,
}

/// Endpoints of a Service in one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterEndpoints {
    /// The cluster.
    #[serde(rename = "clusterID")]
    #[schemars(schema_with = "schema::dns_label")]
    pub cluster_id: String,
    /// What it exports.
    #[serde(skip_serializing_if = "is_default")]
    pub endpoint_slices: Vec<EndpointSliceTemplate>,
}

/// What an EndpointSlice says, without the object: one family, one set of ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EndpointSliceTemplate {
    /// The family of all addresses.
    pub address_type: AddressType,
    /// Ports that every endpoint has.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = schema::without_descriptions)]
    pub ports: Vec<EndpointPort>,
    /// The endpoints.
    #[serde(skip_serializing_if = "is_default")]
    pub endpoints: Vec<SliceEndpoint>,
}

word!(
    /// The family of addresses of an EndpointSlice.
    AddressType {
        /// IPv4.
        IPv4 = "IPv4",
        /// IPv6.
        IPv6 = "IPv6",
    }
);

/// One endpoint. A ready one is its addresses alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SliceEndpoint {
    /// Its addresses; the first counts.
    #[schemars(schema_with = "schema::ips")]
    pub addresses: Vec<String>,
    /// Its name in the DNS of a headless Service.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::dns_label")]
    pub hostname: Option<String>,
    /// The zone that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Whether it is ready, serving, terminating. Nothing is said of a ready one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::without_descriptions)]
    pub conditions: Option<EndpointConditions>,
}
