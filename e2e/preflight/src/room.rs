//! Whether the disk has room: what is needed is summed up for each file system, as most machines have but one.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Missing;

/// Something that takes room on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// What it is, for the user.
    pub what: &'static str,
    /// Where it goes; the folder need not be there yet.
    pub folder: PathBuf,
    /// How much of it there may be.
    pub mebibytes: u64,
}

/// A file system that needs go to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileSystem {
    /// A folder of it that is there.
    place: PathBuf,
    free_mebibytes: u64,
}

/// Checks that every file system has room for all that goes there.
///
/// # Errors
/// A sentence for each that has not: what is needed, and how much of it is free.
pub fn check(needs: &[Need]) -> Result<(), Missing> {
    let mut by_device: BTreeMap<u64, (FileSystem, Vec<&Need>)> = BTreeMap::new();
    for need in needs {
        let place = need.folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
        let failed = || format!("cannot see how much room is left in {}", place.display());
        let device = place.metadata().map_err(|error| format!("{}: {error}", failed()))?.dev();
        let system = FileSystem { place: place.to_owned(), free_mebibytes: free(place).ok_or_else(failed)? };
        by_device.entry(device).or_insert((system, Vec::new())).1.push(need);
    }
    crate::missing(by_device.values().map(|(system, needs)| judge(system, needs).map_err(Missing::from)))
}

/// What anybody but root may still write, in MiB.
fn free(place: &Path) -> Option<u64> {
    let output =
        Command::new("stat").args(["--file-system", "--format", "%a %S"]).arg(place).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (blocks, size) = text.trim().split_once(' ')?;
    Some((blocks.parse::<u64>().ok()? * size.parse::<u64>().ok()?) >> 20)
}

fn judge(system: &FileSystem, needs: &[&Need]) -> Result<(), String> {
    let wanted: u64 = needs.iter().map(|need| need.mebibytes).sum();
    if system.free_mebibytes >= wanted {
        return Ok(());
    }
    let list: Vec<String> = needs
        .iter()
        .map(|need| {
            format!("{} GiB for {} in {}", at_least(need.mebibytes), need.what, need.folder.display())
        })
        .collect();
    Err(format!(
        "only {} GiB are free on the file system of {}, and {} GiB are needed: {}",
        tenths(system.free_mebibytes * 10 / 1024),
        system.place.display(),
        at_least(wanted),
        list.join(", ")
    ))
}

/// GiB, rounded up: what is free is rounded down, so that the two never look the same.
fn at_least(mebibytes: u64) -> String {
    tenths((mebibytes * 10).div_ceil(1024))
}

fn tenths(count: u64) -> String {
    format!("{}.{}", count / 10, count % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(what: &'static str, folder: &str, mebibytes: u64) -> Need {
        Need { what, folder: folder.into(), mebibytes }
    }

    #[test]
    fn needs_of_one_file_system_add_up() {
        let (programs, labs) = (need("programs", "/var/cache/a", 1100), need("labs", "/var/lib/b", 2048));
        let system = |free_mebibytes| FileSystem { place: "/var".into(), free_mebibytes };
        assert!(judge(&system(3148), &[&programs, &labs]).is_ok());
        assert_eq!(
            judge(&system(3147), &[&programs, &labs]).unwrap_err(),
            "only 3.0 GiB are free on the file system of /var, and 3.1 GiB are needed: \
             1.1 GiB for programs in /var/cache/a, 2.0 GiB for labs in /var/lib/b"
        );
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_on_the_file_system_of_the_first_that_is() {
        let more_than_any_disk = need("everything", "/proc/self/no/such/folder", 1 << 40);
        let error = check(&[need("nothing", "/", 0), more_than_any_disk]).unwrap_err().to_string();
        assert!(error.contains("1073741824.0 GiB for everything in /proc/self/no/such/folder"), "{error}");
    }
}
