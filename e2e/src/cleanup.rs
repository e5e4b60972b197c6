//! Removing labs: from what is found by name, whatever the state on disk says, so that it works after any crash.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Error, Result};

use crate::command::{Run as _, command};
use crate::names::{CGROUP_PREFIX, HOST_LINK_PREFIX, LabName};
use crate::processes;
use crate::state::{self, Phase, State};
use crate::{cache, wait};
use antrea_preflight::cgroups::{Cgroups, folders};

const LINKS: &str = "/sys/class/net";

/// Removes a lab and returns how many things that were: processes, namespaces, links, cgroups, mounts, the folder.
///
/// # Errors
/// When one of them cannot be removed.
pub fn remove(name: &LabName) -> Result<usize> {
    let _lock = lock()?;
    remove_locked(name)
}

/// The same for somebody who holds the lock: of two that remove one lab, the second finds what is half gone.
pub(crate) fn remove_locked(name: &LabName) -> Result<usize> {
    // A Node's first process ends with its keeper and takes all of its Pods with it.
    let mut removed = processes::kill_all(name)?;
    for namespace in processes::namespaces(name)? {
        command("ip", &["netns", "delete", &namespace]).run()?;
        removed += 1;
    }
    // Its other end was in the router, but a namespace without a name lives as long as something uses it.
    let link = name.host_link();
    if Path::new(LINKS).join(&link).exists() && command("ip", &["link", "delete", &link]).run().is_ok() {
        removed += 1;
    }
    removed += remove_cgroups(name)?;
    removed += unmount(&state::folder(name))?;
    let folder = state::folder(name);
    if folder.exists() {
        cache::remove(&folder)?;
        removed += 1;
    }
    Ok(removed)
}

/// Removes what killed runs have left, and returns how many things that were. Labs that are up stay.
///
/// # Errors
/// When something cannot be read or removed.
pub fn remove_leftovers() -> Result<usize> {
    // Somebody may be making a lab right now: between its folder and its state lies this lock.
    let _lock = lock()?;
    let mut removed = 0;
    for name in candidates()? {
        if is_leftover(&name)? {
            removed += remove_locked(&name)?;
        }
    }
    Ok(removed)
}

/// Where there has never been a lab, nothing is made for it.
fn lock() -> Result<Option<fs::File>> {
    if state::root().exists() { state::lock().map(Some) } else { Ok(None) }
}

/// Every lab that has left something with its name in it.
fn candidates() -> Result<BTreeSet<LabName>> {
    let mut names: BTreeSet<LabName> = state::names()?.into_iter().collect();
    for cgroup in cgroup_roots().iter().flat_map(|root| folders(root)) {
        let name = cgroup.strip_prefix(CGROUP_PREFIX).and_then(|rest| rest.rsplit_once('.'));
        names.extend(name.and_then(|(name, _)| name.parse().ok()));
    }
    for link in folders(Path::new(LINKS)) {
        names.extend(link.strip_prefix(HOST_LINK_PREFIX).and_then(|name| name.parse().ok()));
    }
    Ok(names)
}

fn is_leftover(name: &LabName) -> Result<bool> {
    // A folder without a readable state was left by a crash: whoever makes a lab holds the lock until it is written.
    let Ok(state) = State::read(name) else { return Ok(true) };
    let owner_gone = state.owner.is_some_and(|owner| !owner.is_alive());
    // The owner of a lab that ends with it takes it down itself, perhaps at this moment.
    let is_empty = || Ok::<_, Error>(state.phase != Phase::Starting && processes::of_lab(name)?.is_empty());
    Ok(owner_gone || state.owner.is_none() && is_empty()?)
}

fn remove_cgroups(name: &LabName) -> Result<usize> {
    let prefix = format!("{CGROUP_PREFIX}{name}.");
    let mut removed = 0;
    for root in cgroup_roots() {
        for cgroup in folders(&root).into_iter().filter(|cgroup| cgroup.starts_with(&prefix)) {
            let path = root.join(cgroup);
            let what = format!("the end of the last process in {}", path.display());
            wait::until(Duration::from_secs(10), &what, || remove_cgroup(&path).map(|()| true))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// None on a machine that has no control groups for labs, and so no labs.
fn cgroup_roots() -> Vec<PathBuf> {
    Cgroups::of_this_machine().map(|cgroups| cgroups.roots()).unwrap_or_default()
}

/// A cgroup goes by rmdir alone, and only after those inside it.
fn remove_cgroup(path: &Path) -> Result<()> {
    for inner in folders(path) {
        remove_cgroup(&path.join(inner))?;
    }
    match fs::remove_dir(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove the cgroup {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Undoes mounts below a folder, the last first.
fn unmount(folder: &Path) -> Result<usize> {
    let table = fs::read_to_string("/proc/self/mountinfo").context("cannot read /proc/self/mountinfo")?;
    let mounts = mounts_below(&table, folder);
    for mount in mounts.iter().rev() {
        nix::mount::umount2(mount, nix::mount::MntFlags::MNT_DETACH)
            .with_context(|| format!("cannot unmount {}", mount.display()))?;
    }
    Ok(mounts.len())
}

fn mounts_below(table: &str, folder: &Path) -> Vec<PathBuf> {
    let points = table.lines().filter_map(|line| line.split_whitespace().nth(4)).map(PathBuf::from);
    points.filter(|point| point.starts_with(folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_other_labs_are_left_alone() {
        let table = "22 1 0:20 / /proc rw - proc proc rw\n30 1 0:5 / /var/lib/antrea-lab/a/x rw - tmpfs t rw\n\
                     31 1 0:5 / /var/lib/antrea-lab/ab/x rw - tmpfs t rw\n";
        let found = mounts_below(table, Path::new("/var/lib/antrea-lab/a"));
        assert_eq!(found, [Path::new("/var/lib/antrea-lab/a/x")]);
    }
}
