//! How answers are printed, as upstream prints them.

mod json;
mod table;
mod yaml;

use clap::ValueEnum;
use serde_json::Value;

pub(crate) use table::{Cells, list_cell, table};

/// What `-o` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// The text of an answer; `people` is what makes a table of it.
pub(crate) fn text(answer: &Value, format: Format, people: impl FnOnce(&Value) -> String) -> String {
    match format {
        Format::Table => people(answer),
        Format::Json => json::text(answer),
        Format::Yaml => yaml::text(answer),
    }
}
