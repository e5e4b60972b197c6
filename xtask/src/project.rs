//! Where the project's files are.

use std::path::{Path, PathBuf};

/// The folder of the workspace's Cargo.toml.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Cargo's target folder, which `.ci/run` keeps outside the checkout.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
