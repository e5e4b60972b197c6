//! Objects of a cluster, and their YAML.

use k8s_openapi::Metadata;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

/// An object of a kind that policies depend on.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "tests have hundreds of them, not millions")]
pub enum Object {
    Namespace(Namespace),
    Node(Node),
    Pod(Pod),
    NetworkPolicy(NetworkPolicy),
}

/// YAML that is no object of a cluster.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("not YAML")]
    Yaml(#[from] serde_saphyr::Error),
    #[error("{kind:?} is none of Namespace, Node, Pod, NetworkPolicy")]
    Kind { kind: String },
    #[error("not a {kind}")]
    Shape { kind: String, source: serde_json::Error },
}

impl Object {
    /// Kind, Namespace and name, as `NetworkPolicy a/deny` or `Node n1`.
    pub fn name(&self) -> String {
        match self {
            Self::Namespace(object) => format!("Namespace {}", name(object)),
            Self::Node(object) => format!("Node {}", name(object)),
            Self::Pod(object) => format!("Pod {}", name(object)),
            Self::NetworkPolicy(object) => format!("NetworkPolicy {}", name(object)),
        }
    }

    pub(crate) fn read(value: Value) -> Result<Self, ReadError> {
        let kind = value["kind"].as_str().unwrap_or_default().to_owned();
        let object = match kind.as_str() {
            "Namespace" => serde_json::from_value(value).map(Self::Namespace),
            "Node" => serde_json::from_value(value).map(Self::Node),
            "Pod" => serde_json::from_value(value).map(Self::Pod),
            "NetworkPolicy" => serde_json::from_value(value).map(Self::NetworkPolicy),
            _ => return Err(ReadError::Kind { kind }),
        };
        object.map_err(|source| ReadError::Shape { kind, source })
    }

    pub(crate) fn write(&self) -> Result<Value, serde_json::Error> {
        match self {
            Self::Namespace(object) => serde_json::to_value(object),
            Self::Node(object) => serde_json::to_value(object),
            Self::Pod(object) => serde_json::to_value(object),
            Self::NetworkPolicy(object) => serde_json::to_value(object),
        }
    }
}

/// `NAMESPACE/NAME`, or `NAME` of an object without a Namespace.
pub(crate) fn name<T: Metadata<Ty = ObjectMeta>>(object: &T) -> String {
    let metadata = object.metadata();
    let name = metadata.name.as_deref().unwrap_or_default();
    metadata.namespace.as_ref().map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}
