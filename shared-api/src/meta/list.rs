//! Lists of objects.

use serde::{Deserialize, Serialize};

use crate::api::{ApiObject, Listed};
use crate::object::is_default;
use crate::protobuf::{DecodeError, Field, Fields, Message, Writer, finish, message};

/// Objects of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct List<T> {
    /// About the list.
    #[serde(default)]
    pub metadata: ListMeta,
    /// The objects. An empty list is written, too.
    #[serde(default = "Vec::new", deserialize_with = "crate::object::null_as_default")]
    #[serde(bound(deserialize = "T: Deserialize<'de>"))]
    pub items: Vec<T>,
}

/// Metadata of lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ListMeta {
    /// Never set any more.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub self_link: String,
    /// Which state of the store was listed; empty in lists of Antrea's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// How to get the rest of a list that was cut.
    #[serde(rename = "continue", skip_serializing_if = "String::is_empty")]
    pub continue_token: String,
    /// How much of it is left.
    #[serde(skip_serializing_if = "is_default")]
    pub remaining_item_count: Option<i64>,
}

message!(ListMeta { 1 self_link, 2 resource_version, 3 continue_token "continue", 4 remaining_item_count });

impl<T> List<T> {
    /// A list of objects.
    pub fn of(items: Vec<T>) -> Self {
        Self { metadata: ListMeta::default(), items }
    }
}

impl<T: Listed> ApiObject for List<T> {
    const API_VERSION: &'static str = T::API_VERSION;
    const KIND: &'static str = T::LIST_KIND;
}

impl<T: Field> Message for List<T> {
    fn write(&self, writer: &mut Writer) {
        self.items.write(2, writer);
        Field::write(&self.metadata, 1, writer);
    }

    fn read(message: &[u8]) -> Result<Self, DecodeError> {
        let (mut metadata, mut items) = (None, None);
        for field in Fields::of(message) {
            match field? {
                (1, value) => Field::read(&mut metadata, value).map_err(|error| error.within("metadata"))?,
                (2, value) => Field::read(&mut items, value).map_err(|error| error.within("items"))?,
                _ => {}
            }
        }
        Ok(Self { metadata: finish(metadata)?, items: finish(items)? })
    }
}
