//! The cache: programs and image archives that outlive labs and checkouts.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

pub use antrea_preflight::cache::{folder, has};

use crate::progress;

/// A key for something that is built from `parts` alone.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the cached folder `NAME-KEY`, made by `build` when it is not there. `build` fills a folder that appears
/// under its name only when it is whole; of several processes one builds and the others wait.
///
/// # Errors
/// What `build` returns, or when the cache cannot be written.
pub fn get(name: &str, key: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    get_in(&folder(), name, key, build)
}

fn get_in(cache: &Path, name: &str, key: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let finished = cache.join(format!("{name}-{key}"));
    if mark_used(&finished)? == Folder::IsThere {
        return Ok(finished);
    }
    fs::create_dir_all(cache).with_context(|| format!("cannot create the cache {}", cache.display()))?;
    let lock_path = cache.join(format!(".{name}.lock"));
    let lock = File::create(&lock_path).with_context(|| format!("cannot write {}", lock_path.display()))?;
    progress::quiet_step(&format!("waiting for another process that makes {name}"), || Ok(lock.lock()?))?;
    if mark_used(&finished)? == Folder::IsThere {
        return Ok(finished);
    }
    let unfinished = cache.join(format!(".{name}.unfinished"));
    remove(&unfinished)?;
    fs::create_dir_all(&unfinished).with_context(|| format!("cannot create {}", unfinished.display()))?;
    build(&unfinished)?;
    fs::rename(&unfinished, &finished).with_context(|| format!("cannot create {}", finished.display()))?;
    mark_used(&finished)?;
    forget_older(cache, name, &finished)?;
    Ok(finished)
}

/// What was used last is kept longest: whoever has just asked for a folder may still copy it.
fn mark_used(folder: &Path) -> Result<Folder> {
    let mark = || File::open(folder)?.set_modified(SystemTime::now());
    match mark() {
        Ok(()) => Ok(Folder::IsThere),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Folder::IsNotThere),
        Err(error) => Err(error).with_context(|| format!("cannot change the time of {}", folder.display())),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folder {
    IsThere,
    IsNotThere,
}

/// Keeps three of a name, those used last: labs that run use files of the cache, and so do older checkouts.
fn forget_older(cache: &Path, name: &str, newest: &Path) -> Result<()> {
    let prefix = format!("{name}-");
    let mut others = Vec::new();
    for entry in fs::read_dir(cache).with_context(|| format!("cannot read {}", cache.display()))? {
        let entry = entry?;
        let is_other = entry.path() != newest && entry.file_name().to_string_lossy().starts_with(&prefix);
        if is_other {
            others.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    others.sort();
    for (_, path) in others.iter().rev().skip(2) {
        // Under another name first: what has its name is whole, also when this ends in the middle.
        let old = cache.join(format!(".{name}.old"));
        remove(&old)?;
        fs::rename(path, &old).with_context(|| format!("cannot rename {}", path.display()))?;
        remove(&old)?;
    }
    Ok(())
}

/// The one entry of a folder.
pub(crate) fn the_one_in(folder: &Path) -> Result<PathBuf> {
    let mut entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let first = entries.next().with_context(|| format!("{} is empty", folder.display()))?;
    Ok(first.with_context(|| format!("cannot read {}", folder.display()))?.path())
}

/// Removes a folder that may not be there.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_is_not_there_is_made_and_filled_once() {
        let place = std::env::temp_dir().join(format!("antrea-cache-{}", std::process::id()));
        let cache = place.join("not/there/yet");
        let build = |folder: &Path| Ok(fs::write(folder.join("program"), "built")?);
        assert!(get_in(&cache, "a", "1", |_| anyhow::bail!("it cannot be built")).is_err());
        let first = get_in(&cache, "a", "1", build).unwrap();
        let second = get_in(&cache, "a", "1", |_| anyhow::bail!("it was built already")).unwrap();
        assert_eq!((fs::read(first.join("program")).unwrap(), second), (b"built".to_vec(), first));
        remove(&place).unwrap();
    }

    #[test]
    fn of_four_the_one_that_was_not_used_for_longest_goes() {
        let place = std::env::temp_dir().join(format!("antrea-cache-used-{}", std::process::id()));
        let get = |key: &str| get_in(&place, "a", key, |_| Ok(())).unwrap();
        let first = ["1", "2", "3"].map(get);
        get("1");
        get("4");
        assert_eq!(first.map(|folder| folder.exists()), [true, false, true]);
        remove(&place).unwrap();
    }

    #[test]
    fn keys_differ_where_parts_are_split_differently() {
        assert_ne!(key([b"ab".as_slice(), b"c"]), key([b"a".as_slice(), b"bc"]));
    }
}
