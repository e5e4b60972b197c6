//! Policies of Antrea: ClusterNetworkPolicy of the whole cluster, NetworkPolicy of a Namespace. Spec and status are kept as
//! they are.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, Metadata, NamespaceResourceScope, Resource};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

macro_rules! policy {
    ($(#[$documentation:meta])* $name:ident $plural:literal $scope:ident) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct $name {
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

        impl Resource for $name {
            const API_VERSION: &'static str = "crd.antrea.io/v1beta1";
            const GROUP: &'static str = "crd.antrea.io";
            const KIND: &'static str = stringify!($name);
            const VERSION: &'static str = "v1beta1";
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = $scope;
        }

        impl Metadata for $name {
            type Ty = ObjectMeta;

            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

policy!(
    /// A policy of the whole cluster.
    ClusterNetworkPolicy "clusternetworkpolicies" ClusterResourceScope
);
policy!(
    /// A policy of a Namespace.
    NetworkPolicy "networkpolicies" NamespaceResourceScope
);
