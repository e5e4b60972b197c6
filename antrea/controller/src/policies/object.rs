//! ClusterNetworkPolicy as far as it is read: its status is kept as it is.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, Metadata, Resource};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A ClusterNetworkPolicy without what it demands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClusterNetworkPolicy {
    #[serde(default)]
    pub(crate) metadata: ObjectMeta,
    /// Null where it has none.
    #[serde(default)]
    pub(crate) status: Value,
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
