//! What a lab leaves on disk about itself: `/var/lib/antrea-lab/NAME`, with `state.json` in it.
//!
//! The folder is made first and removed last, so whatever else a lab leaves can be found by its name.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::names::{ClusterId, LabName, NodeId};
use crate::plan::Plan;
use crate::processes::ProcessId;

/// How far a lab has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// `lab up` is at it, or was killed.
    Starting,
    /// It works.
    Ready,
    /// `lab up` gave up; what there is can be looked at.
    Failed,
}

/// `state.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    /// What the lab consists of.
    pub plan: Plan,
    /// How far it has come.
    pub phase: Phase,
    /// The folder of the Kubernetes programs that the lab runs; an older checkout does not say.
    #[serde(default)]
    pub programs: PathBuf,
    /// The process whose end leaves the lab to whoever cleans up; none for a lab that stays.
    pub owner: Option<ProcessId>,
}

/// The folder of all labs.
pub fn root() -> PathBuf {
    PathBuf::from("/var/lib/antrea-lab")
}

/// The folder of a lab.
pub fn folder(name: &LabName) -> PathBuf {
    root().join(name.as_str())
}

/// The folder of a cluster's control plane: keys, kubeconfigs, logs.
pub fn cluster_folder(name: &LabName, cluster: ClusterId) -> PathBuf {
    folder(name).join(cluster.to_string())
}

/// The folder of a Node: what is mounted into it, its configuration, its logs.
pub fn node_folder(name: &LabName, node: NodeId) -> PathBuf {
    folder(name).join(node.to_string())
}

/// The administrator's kubeconfig of a cluster.
pub fn kubeconfig(name: &LabName, cluster: ClusterId) -> PathBuf {
    cluster_folder(name, cluster).join("admin.kubeconfig")
}

impl State {
    /// Reads the state of a lab.
    ///
    /// # Errors
    /// When there is no such lab; the error says which there are.
    pub fn read(name: &LabName) -> Result<Self> {
        let Some(text) = read_if_there(&path(name))? else {
            let there = names()?;
            let others = there.iter().map(LabName::to_string).collect::<Vec<_>>().join(", ");
            bail!(
                "there is no lab {name}; {}",
                if there.is_empty() { "none is up".to_owned() } else { format!("up: {others}") }
            );
        };
        let place = path(name);
        serde_json::from_str(&text)
            .with_context(|| format!("{} is broken: `cargo xtask lab down --name {name}`", place.display()))
    }

    /// Writes the state, whole or not at all.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn write(&self) -> Result<()> {
        let path = path(&self.plan.name);
        let temporary = path.with_extension("json.new");
        let text = serde_json::to_string_pretty(self).context("the state cannot be written as JSON")?;
        fs::create_dir_all(folder(&self.plan.name))
            .and_then(|()| fs::write(&temporary, text))
            .and_then(|()| fs::rename(&temporary, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// The labs that have a folder, whatever is in it.
///
/// # Errors
/// When the folder of all labs cannot be read.
pub fn names() -> Result<Vec<LabName>> {
    let root = root();
    let entries = match fs::read_dir(&root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", root.display())),
    };
    let mut names: Vec<LabName> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    names.sort();
    Ok(names)
}

/// Held while a lab is planned and its state first written, so that two labs never choose the same addresses, and while
/// one is removed.
///
/// # Errors
/// When the folder of all labs cannot be written.
pub fn lock() -> Result<File> {
    let root = root();
    let path = root.join(".lock");
    let file = fs::create_dir_all(&root).and_then(|()| File::create(&path));
    let file = file.with_context(|| format!("cannot write {}", path.display()))?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

/// The contents of a file, none when there is none.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn path(name: &LabName) -> PathBuf {
    folder(name).join("state.json")
}
