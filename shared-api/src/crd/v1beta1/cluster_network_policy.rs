//! ClusterNetworkPolicy: a policy of the whole cluster. Spec and status are kept as they are.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, Metadata, Resource};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A policy of the whole cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterNetworkPolicy {
    /// Standard metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The policy.
    #[serde(default)]
    pub spec: Map<String, Value>,
    /// What became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Value>,
}

impl Resource for ClusterNetworkPolicy {
    const API_VERSION: &'static str = "crd.antrea.io/v1beta1";
    const GROUP: &'static str = "crd.antrea.io";
    const KIND: &'static str = "ClusterNetworkPolicy";
    const VERSION: &'static str = "v1beta1";
    const URL_PATH_SEGMENT: &'static str = "clusternetworkpolicies";
    type Scope = ClusterResourceScope;
}

impl Metadata for ClusterNetworkPolicy {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
