//! Tables: objects as `kubectl get` prints them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ListMeta, Metadata};
use crate::api::{ApiObject, Typed, api_object};
use crate::word::closed_word;

/// What is printed of some objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    /// The metadata of the list.
    #[serde(default)]
    pub metadata: ListMeta,
    /// The columns.
    pub column_definitions: Vec<Column>,
    /// The objects.
    #[serde(default, deserialize_with = "crate::object::null_as_default")]
    pub rows: Vec<Row>,
}

api_object!(Table in "meta.k8s.io/v1");

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its title.
    pub name: String,
    /// What its cells are.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    /// How its cells are meant.
    pub format: ColumnFormat,
    /// What it says.
    pub description: String,
    /// 0 for a column that is always printed, more for `-o wide`.
    pub priority: i32,
}

closed_word!(
    /// What the cells of a column are.
    ColumnType "type" {
        /// Texts.
        String = "string",
        /// Numbers.
        Integer = "integer",
        /// Times, which kubectl prints as ages.
        Date = "date",
    }
);

closed_word!(
    /// How the cells of a column are meant.
    ColumnFormat "format" {
        /// As they are.
        Plain = "",
        /// As the name of the object.
        Name = "name",
        /// As numbers of 64 bits.
        Int64 = "int64",
    }
);

impl Column {
    /// A column that is always printed.
    pub fn new(name: &str, column_type: ColumnType, format: ColumnFormat, description: &str) -> Self {
        Self { name: name.to_owned(), column_type, format, description: description.to_owned(), priority: 0 }
    }
}

/// An object in a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What is in the columns.
    pub cells: Vec<Value>,
    /// Whose row it is.
    #[serde(serialize_with = "with_kind")]
    pub object: PartialObjectMetadata,
}

/// The metadata of an object without the object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartialObjectMetadata {
    /// The metadata.
    pub metadata: Metadata,
}

api_object!(PartialObjectMetadata in "meta.k8s.io/v1");

fn with_kind<T: ApiObject + Serialize, S: serde::Serializer>(
    object: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    Typed::new(object).serialize(serializer)
}

/// A type whose objects are printed.
pub trait Printed {
    /// The columns.
    fn columns() -> Vec<Column>;

    /// What is in the columns for this object.
    fn cells(&self) -> Vec<Value>;

    /// Whose row it is.
    fn metadata(&self) -> &Metadata;
}

impl Table {
    /// The table of some objects.
    pub fn of<'a, T: Printed + 'a>(objects: impl IntoIterator<Item = &'a T>) -> Self {
        let row = |object: &T| Row {
            cells: object.cells(),
            object: PartialObjectMetadata { metadata: object.metadata().clone() },
        };
        Self {
            metadata: ListMeta::default(),
            column_definitions: T::columns(),
            rows: objects.into_iter().map(row).collect(),
        }
    }
}
