//! Where programs and image archives are kept that outlive labs and checkouts.

use std::fs;
use std::path::PathBuf;

/// The cache folder, outside every checkout: `ANTREA_LAB_CACHE`, or `/var/cache/antrea-lab`.
pub fn folder() -> PathBuf {
    std::env::var_os("ANTREA_LAB_CACHE").map_or_else(|| PathBuf::from("/var/cache/antrea-lab"), PathBuf::from)
}

/// Whether there is something of a name, from whatever it was built.
pub fn has(name: &str) -> bool {
    let prefix = format!("{name}-");
    let mut entries = fs::read_dir(folder()).into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
}
