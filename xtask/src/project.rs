//! Where the project's files are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folder of the workspace's Cargo.toml.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Cargo's target folder, which `.ci/run` keeps outside the checkout.
pub fn target() -> PathBuf {
    target_of(std::env::var_os("CARGO_TARGET_DIR"))
}

/// The folder of programs as users get them, which the images carry.
pub fn programs() -> PathBuf {
    target().join("release")
}

/// Every cargo that is started here runs in the root, and a relative folder is relative to that.
fn target_of(variable: Option<OsString>) -> PathBuf {
    root().join(variable.filter(|folder| !folder.is_empty()).unwrap_or_else(|| "target".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_folder_is_where_cargo_looks_for_it() {
        assert_eq!(target_of(None), root().join("target"));
        assert_eq!(target_of(Some("build".into())), root().join("build"));
        assert_eq!(target_of(Some("/var/cache/x".into())), Path::new("/var/cache/x"));
    }
}
