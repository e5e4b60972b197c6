//! Where the project's files are.

use std::path::PathBuf;

use anyhow::{Context, Result};

pub use antrea_e2e::preflight::{root, target};

/// The folder of programs as users get them, which the images carry.
pub fn programs() -> PathBuf {
    target().join("release")
}

/// The folder for what tests print, made if it is not there.
///
/// # Errors
/// When it cannot be made.
pub fn test_logs() -> Result<PathBuf> {
    let folder = target().join("test-logs");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}
