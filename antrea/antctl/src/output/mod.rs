//! How answers are printed, as upstream prints them.

mod json;
mod table;
mod yaml;

use clap::{Args, ValueEnum};
use serde_json::Value;

pub(crate) use table::{Cells, list_cell, table, table_as_it_is};

/// The flag of commands that print an answer.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Output {
    /// The format of what is printed
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value = "table")]
    pub(crate) format: Format,
}

/// What `-o` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Text as it is, anything else as JSON in one line.
    Raw,
}

/// The text of an answer; `people` is what makes a table of it.
pub(crate) fn text(answer: &Value, format: Format, people: impl FnOnce(&Value) -> String) -> String {
    match format {
        Format::Table => people(answer),
        Format::Json => json::text(answer),
        Format::Yaml => yaml::text(answer),
        Format::Raw => match answer {
            Value::String(text) => format!("{text}\n"),
            other => format!("{other}\n"),
        },
    }
}
