//! Metadata of objects.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::is_default;
use crate::protobuf::{
    DecodeError, Field, Fields, Message, Value, Writer, finish, read_nested, read_time, write_nested,
    write_time,
};

/// The metadata that objects of the aggregated APIs have. What is empty is left out of the JSON, and written in protobuf.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The Namespace, of objects that are in one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The UID; for groups that are named after their selector it is the name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Which state of the store a bookmark stands for, as a decimal number. No other object says it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Which version of its source the object was computed from, or 0.
    #[serde(skip_serializing_if = "is_default")]
    pub generation: i64,
    /// When the source was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Metadata {
    /// The metadata of an object with a name and a UID.
    pub fn new(name: impl Into<String>, uid: impl Into<String>) -> Self {
        Self { name: name.into(), uid: uid.into(), ..Self::default() }
    }

    /// The metadata of a bookmark.
    pub fn bookmark(resource_version: u64) -> Self {
        Self { resource_version: resource_version.to_string(), ..Self::default() }
    }
}

/// Numbers are those of ObjectMeta. Two texts that these objects never have are written empty.
impl Message for Metadata {
    fn write(&self, writer: &mut Writer) {
        let (generate_name, self_link) = (b"", b"");
        self.annotations.write(12, writer);
        self.labels.write(11, writer);
        write_time(self.creation_timestamp.as_ref(), 8, writer);
        self.generation.write(7, writer);
        self.resource_version.write(6, writer);
        self.uid.write(5, writer);
        writer.bytes_field(4, self_link);
        self.namespace.write(3, writer);
        writer.bytes_field(2, generate_name);
        self.name.write(1, writer);
    }

    fn read(message: &[u8]) -> Result<Self, DecodeError> {
        let (mut name, mut namespace, mut uid, mut resource_version) = (None, None, None, None);
        let (mut generation, mut created, mut labels, mut annotations) = (None, None, None, None);
        for field in Fields::of(message) {
            let (number, value) = field?;
            match number {
                1 => Field::read(&mut name, value).map_err(|error| error.within("name"))?,
                3 => Field::read(&mut namespace, value).map_err(|error| error.within("namespace"))?,
                5 => Field::read(&mut uid, value).map_err(|error| error.within("uid"))?,
                6 => Field::read(&mut resource_version, value)
                    .map_err(|error| error.within("resource_version"))?,
                7 => Field::read(&mut generation, value).map_err(|error| error.within("generation"))?,
                8 => created = read_time(value).map_err(|error| error.within("creation_timestamp"))?,
                11 => Field::read(&mut labels, value).map_err(|error| error.within("labels"))?,
                12 => Field::read(&mut annotations, value).map_err(|error| error.within("annotations"))?,
                _ => {}
            }
        }
        Ok(Self {
            name: finish(name)?,
            namespace: finish(namespace)?,
            uid: finish(uid)?,
            resource_version: finish(resource_version)?,
            generation: finish(generation)?,
            creation_timestamp: created,
            labels: finish(labels)?,
            annotations: finish(annotations)?,
        })
    }
}

impl Field for Metadata {
    fn write(&self, number: u32, writer: &mut Writer) {
        write_nested(self, number, writer);
    }

    fn read(slot: &mut Option<Self>, value: Value<'_>) -> Result<(), DecodeError> {
        *slot = Some(read_nested(value)?);
        Ok(())
    }

    fn absent() -> Result<Self, DecodeError> {
        Ok(Self::default())
    }
}
