//! `merge FILE…`: what a leader would make of ResourceExports.

mod print;
mod read;
#[cfg(test)]
mod tests;

use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use jiff::Timestamp;

use crate::USAGE;
use crate::cli::Merge;
use read::Objects;

/// Reads, merges, prints.
pub(crate) fn run(options: &Merge) -> ExitCode {
    match merge(options) {
        Ok(text) => match std::io::stdout().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(USAGE)
        }
    }
}

fn merge(options: &Merge) -> Result<String> {
    let mut objects = Objects::default();
    for path in &options.files {
        let name = path.display().to_string();
        let text = text(path).with_context(|| format!("cannot read {name}"))?;
        objects.read(&text).with_context(|| name.clone())?;
    }
    for ignored in &objects.ignored {
        eprintln!(
            "left out: {ignored} is no ResourceExport, MemberClusterAnnounce, ServiceAccount or ClusterSet"
        );
    }
    print::print(objects, Timestamp::now())
}

fn text(path: &Path) -> Result<String> {
    if path != Path::new("-") {
        return Ok(std::fs::read_to_string(path)?);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}
