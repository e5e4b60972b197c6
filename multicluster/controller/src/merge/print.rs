//! The answer: ResourceImports as YAML that could be applied, and in comments behind them what exporters are told.

use std::fmt::Write;

use antrea_mc_leader::{Merged, merge};
use antrea_shared_api::multicluster::Condition;
use anyhow::{Context, Result};
use jiff::Timestamp;
use serde::Serialize;

use super::read::Objects;

/// What a leader makes of the objects, Common Area by Common Area.
pub(super) fn print(objects: Objects, now: Timestamp) -> Result<String> {
    let mut text = String::new();
    for (namespace, given) in objects.areas {
        let Merged { imports, told } = merge(&namespace, given, now);
        for import in imports.values() {
            text.push_str("---\n");
            text.push_str(&yaml(import)?);
        }
        for (name, conditions) in &told {
            writeln!(text, "# ResourceExport {name}")?;
            for condition in conditions {
                writeln!(text, "#   {}", line(condition))?;
            }
        }
    }
    Ok(text)
}

/// As `Conflict=True PortConflict: port http 80/TCP …`.
fn line(condition: &Condition) -> String {
    let Condition { condition_type, status, reason, message, .. } = condition;
    let mut line = format!("{condition_type}={status}");
    if !reason.is_empty() {
        line.push(' ');
        line.push_str(reason);
    }
    if !message.is_empty() {
        line.push_str(": ");
        // A line break would end the comment.
        line.push_str(&message.replace('\n', " "));
    }
    line
}

fn yaml(object: &impl Serialize) -> Result<String> {
    let mut options = serde_saphyr::SerializerOptions::default();
    options.folded_wrap_chars = usize::MAX;
    serde_saphyr::to_string_with_options(object, options)
        .context("a ResourceImport cannot be written as YAML")
}
