//! How answers are printed, as upstream prints them: tables with columns as wide as their widest cell, JSON, YAML.

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Serialize;

/// What `-o` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// What stands in a cell where there is nothing.
const NONE: &str = "<NONE>";

/// A table with its rows in the order of their cells.
pub(crate) fn table<const N: usize>(header: [&str; N], mut rows: Vec<[String; N]>) -> String {
    rows.sort();
    let filled = |cell: String| if cell.is_empty() { NONE.to_owned() } else { cell };
    let rows: Vec<[String; N]> = std::iter::once(header.map(str::to_owned))
        .chain(rows.into_iter().map(|row| row.map(filled)))
        .collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &[String; N]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join(" ") + "\n"
    };
    rows.iter().map(line).collect()
}

pub(crate) fn json(answer: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(answer).context("the answer cannot be written as JSON")?;
    Ok(text + "\n")
}

pub(crate) fn yaml(answer: &impl Serialize) -> Result<String> {
    let mut options = serde_saphyr::SerializerOptions::default();
    options.folded_wrap_chars = usize::MAX;
    serde_saphyr::to_string_with_options(answer, options).context("the answer cannot be written as YAML")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned);
        let text = table(["NAME", "IP"], vec![row(["long-name", "10.0.0.1"]), row(["a", ""])]);
        assert_eq!(text, "NAME      IP      \na         <NONE>  \nlong-name 10.0.0.1\n");
    }

    #[test]
    fn long_text_stays_on_its_line() {
        let token = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ".repeat(40);
        let text =
            yaml(&[("token", token.clone())].into_iter().collect::<std::collections::BTreeMap<_, _>>());
        assert_eq!(text.unwrap(), format!("token: {token}\n"));
    }
}
