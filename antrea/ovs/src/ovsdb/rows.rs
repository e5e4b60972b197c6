//! Rows of the tables that Antrea uses, with the columns that it uses.

mod bridge;
mod interface;
mod open_vswitch;
mod port;

pub use bridge::Bridge;
pub use interface::Interface;
pub use open_vswitch::OpenVSwitch;
pub use port::Port;

use super::column::{BadValue, Change};

/// A row of one table.
pub(crate) trait Row: Default + Clone {
    /// The table's name in the schema.
    const TABLE: &'static str;
    /// The columns that are monitored.
    const COLUMNS: &'static [&'static str];

    /// Takes over what the server says about a column; other columns are ignored.
    fn apply(&mut self, column: &str, change: Change<'_>) -> Result<(), BadValue>;
}

/// Defines the struct of a table: `field: type = "column"`. Columns the server leaves out have their default.
macro_rules! row {
    ($(#[$documentation:meta])* $row:ident = $table:literal {
        $($(#[$about:meta])* $field:ident: $type:ty = $column:literal,)*
    }) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $row {
            $($(#[$about])* pub $field: $type,)*
        }

        impl crate::ovsdb::rows::Row for $row {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [&'static str] = &[$($column),*];

            fn apply(
                &mut self,
                column: &str,
                change: crate::ovsdb::column::Change<'_>,
            ) -> Result<(), crate::ovsdb::column::BadValue> {
                match column {
                    $($column => crate::ovsdb::column::Column::apply(&mut self.$field, change),)*
                    _ => Ok(()),
                }
            }
        }
    };
}
use row;
