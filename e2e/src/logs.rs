//! The logs of what runs in a lab outside of Pods.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::names::Place;
use crate::plan::Plan;
use crate::state;

/// The end of a log file.
#[derive(Debug, Clone)]
pub struct Log {
    /// Where all of it is.
    pub path: PathBuf,
    /// Its last lines.
    pub tail: String,
}

/// The last `lines` lines of every log of a place. A router has none.
///
/// # Errors
/// When a log cannot be read.
pub fn read(plan: &Plan, place: Place, lines: usize) -> Result<Vec<Log>> {
    plan.namespace(place)?;
    let paths = match place {
        Place::Router => Vec::new(),
        Place::Outside => vec![state::folder(&plan.name).join("outside.log")],
        Place::Cluster(cluster) => files(&state::cluster_folder(&plan.name, cluster).join("log"))?,
        Place::Node(node) => files(&state::node_folder(&plan.name, node))?,
    };
    paths.into_iter().filter(|path| path.exists()).map(|path| tail(path, lines)).collect()
}

fn files(folder: &std::path::Path) -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut logs: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|suffix| suffix == "log")).collect();
    logs.sort();
    Ok(logs)
}

fn tail(path: PathBuf, lines: usize) -> Result<Log> {
    let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().collect();
    let tail = all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n");
    Ok(Log { path, tail })
}
