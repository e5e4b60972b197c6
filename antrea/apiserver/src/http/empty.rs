//! Kinds of features that are not there yet: their collections are, and are empty. Of their objects there is as much as
//! lists and bookmarks need.

use antrea_shared_api::api::{ApiObject, Listed};
use antrea_shared_api::meta::{Column, ColumnFormat, ColumnType, Metadata, Printed};
use antrea_shared_api::protobuf::{DecodeError, Field, Message, Value, Writer};
use antrea_shared_api::{controlplane, stats};
use schemars::JsonSchema;
use serde::Serialize;

/// Declares a kind of which there are no objects.
macro_rules! empty {
    ($(#[$documentation:meta])* $name:ident in $api_version:expr, $plural:literal) => {
        $(#[$documentation])*
        #[derive(Default, Serialize, JsonSchema)]
        pub(super) struct $name {
            /// Its name.
            pub(super) metadata: Metadata,
        }

        impl ApiObject for $name {
            const API_VERSION: &'static str = $api_version;
            const KIND: &'static str = stringify!($name);
        }

        impl Listed for $name {
            const LIST_KIND: &'static str = concat!(stringify!($name), "List");
            const PLURAL: &'static str = $plural;
        }

        impl Message for $name {
            fn write(&self, writer: &mut Writer) {
                Field::write(&self.metadata, 1, writer);
            }

            fn read(_: &[u8]) -> Result<Self, DecodeError> {
                Ok(Self::default())
            }
        }

        impl Field for $name {
            fn write(&self, number: u32, writer: &mut Writer) {
                writer.nested(number, |writer| Message::write(self, writer));
            }

            fn read(slot: &mut Option<Self>, _: Value<'_>) -> Result<(), DecodeError> {
                *slot = Some(Self::default());
                Ok(())
            }

            fn absent() -> Result<Self, DecodeError> {
                Ok(Self::default())
            }
        }
    };
}

empty!(
    /// What agents are asked to collect.
    SupportBundleCollection in controlplane::v1beta2::API_VERSION, "supportbundlecollections"
);
empty!(
    /// How long packets take between Nodes.
    NodeLatencyStats in stats::v1alpha1::API_VERSION, "nodelatencystats"
);

impl Printed for NodeLatencyStats {
    fn columns() -> Vec<Column> {
        let text =
            |name, description| Column::new(name, ColumnType::String, ColumnFormat::Plain, description);
        vec![
            Column::new("Node Name", ColumnType::String, ColumnFormat::Name, "The Node that measured."),
            Column::new(
                "Num Latency Entries",
                ColumnType::Integer,
                ColumnFormat::Int64,
                "How many Nodes were measured.",
            ),
            text("Avg Latency", "The average over all Nodes."),
            text("Max Latency", "That of the farthest Node."),
        ]
    }

    fn cells(&self) -> Vec<serde_json::Value> {
        Vec::new()
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
