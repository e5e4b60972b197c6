//! Objects of any kind as JSON. A watch of these is compiled once, where each typed one is code of its own for the kind
//! and everything in it; and an object that does not fit its type does not stop the watch of all others.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// An object as the API server wrote it. Its metadata as a type are no more than what watches go by: name, Namespace
/// and version.
#[derive(Clone, Debug, PartialEq)]
pub struct Untyped {
    metadata: ObjectMeta,
    /// All of it.
    pub object: Value,
}

impl From<Value> for Untyped {
    fn from(object: Value) -> Self {
        let field = |name: &str| Some(object.get("metadata")?.get(name)?.as_str()?.to_owned());
        let metadata = ObjectMeta {
            name: field("name"),
            namespace: field("namespace"),
            resource_version: field("resourceVersion"),
            ..ObjectMeta::default()
        };
        Self { metadata, object }
    }
}

impl<'de> Deserialize<'de> for Untyped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

impl Serialize for Untyped {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.object.serialize(serializer)
    }
}

impl Resource for Untyped {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.kind)
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.group)
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.version)
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.plural)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_kept_as_it_is_written_whatever_its_metadata_are() {
        let check = |text: &str, name: Option<&str>, version: Option<&str>| {
            let untyped: Untyped = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&untyped).unwrap(), text);
            assert_eq!(untyped.meta().name.as_deref(), name);
            assert_eq!(untyped.meta().resource_version.as_deref(), version);
        };
        check(
            r#"{"metadata":{"name":"a","resourceVersion":"7","labels":5},"spec":null}"#,
            Some("a"),
            Some("7"),
        );
        check(r#"{"metadata":{"name":1}}"#, None, None);
        check("{}", None, None);
    }
}
