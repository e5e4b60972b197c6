//! What all objects of the aggregated APIs carry (`meta/v1` of Kubernetes), as far as these APIs use it.

mod list;
mod metadata;
mod status;
mod table;

pub use list::{List, ListMeta};
pub use metadata::Metadata;
pub use status::{Status, StatusDetails, StatusOutcome};
pub use table::{Column, ColumnFormat, ColumnType, PartialObjectMetadata, Printed, Row, Table};
