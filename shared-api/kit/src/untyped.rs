//! Objects of any kind as JSON. A watch of these is compiled once, where each typed one is code of its own for the kind
//! and everything in it; and an object that does not fit its type does not stop the watch of all others.

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// An object as the API server wrote it, but without `metadata.managedFields`, which often are more than all the rest.
/// Its metadata as a type are no more than what watches go by: name, Namespace and version.
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
        Without(&["metadata", "managedFields"]).deserialize(deserializer).map(Self::from)
    }
}

/// Reads a JSON object without what is at this path in it: nothing is made of that, not even for a moment.
struct Without(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Without {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Without {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            let value = match self.0 {
                [last] if name == *last => {
                    access.next_value::<IgnoredAny>()?;
                    continue;
                }
                [first, rest @ ..] if name == *first => access.next_value_seed(Self(rest))?,
                _ => access.next_value()?,
            };
            fields.insert(name, value);
        }
        Ok(fields.into())
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
    fn an_object_is_kept_as_it_is_written_but_for_managed_fields() {
        let check = |text: &str, kept: &str, name: Option<&str>, version: Option<&str>| {
            let untyped: Untyped = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&untyped).unwrap(), kept);
            assert_eq!(untyped.meta().name.as_deref(), name);
            assert_eq!(untyped.meta().resource_version.as_deref(), version);
        };
        let text =
            r#"{"metadata":{"name":"a","resourceVersion":"7","labels":5},"spec":{"managedFields":[1]}}"#;
        check(text, text, Some("a"), Some("7"));
        let managed = r#"{"metadata":{"managedFields":[{"fieldsV1":{"f:spec":{}}}],"name":"a"}}"#;
        check(managed, r#"{"metadata":{"name":"a"}}"#, Some("a"), None);
        for text in [r#"{"metadata":{"name":1}}"#, r#"{"metadata":null}"#, "{}"] {
            check(text, text, None, None);
        }
        serde_json::from_str::<Untyped>("[]").unwrap_err();
    }
}
