//! Where daemons listen for commands: `NAME.ctl`, which outlasts restarts, and `NAME.PID.ctl`, which is where programs of
//! Open vSwitch and upstream's agent look that read the number in `NAME.pid`.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The name that does not change.
pub(super) fn path(run_dir: &Path, name: &str) -> PathBuf {
    run_dir.join(format!("{name}.ctl"))
}

/// The daemon is also found by the number of its process. It makes its socket a moment later.
pub(super) fn name_by_process(run_dir: &Path, name: &str, pid: u32) -> Result<()> {
    let link = run_dir.join(format!("{name}.{pid}.ctl"));
    symlink(format!("{name}.ctl"), &link).with_context(|| format!("cannot create {}", link.display()))
}

/// Removes what daemons have left that are gone, those of upstream's as well: numbers of processes come again.
pub(super) fn forget_former(run_dir: &Path, name: &str) -> Result<()> {
    let entries = std::fs::read_dir(run_dir).with_context(|| format!("cannot read {}", run_dir.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", run_dir.display()))?;
        if entry.file_name().to_str().is_some_and(|file| is_of_process(file, name)) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

fn is_of_process(file: &str, name: &str) -> bool {
    let number = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')?.strip_suffix(".ctl"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_former_processes_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let kept =
            ["ovs-vswitchd.ctl", "ovs-vswitchd.pid", "ovs-vswitchd.x.ctl", "ovsdb-server.9.ctl", "db.sock"];
        for file in kept.iter().chain(&["ovs-vswitchd.12.ctl"]) {
            std::fs::write(folder.path().join(file), "").unwrap();
        }
        name_by_process(folder.path(), "ovs-vswitchd", 7).unwrap();
        forget_former(folder.path(), "ovs-vswitchd").unwrap();
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let left = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let left: std::collections::BTreeSet<_> = left.collect();
        assert_eq!(left, kept.map(str::to_owned).into());
    }
}
