//! Where the project's files are.

use std::path::PathBuf;

pub use antrea_e2e::preflight::{root, target};

/// The folder of programs as users get them, which the images carry.
pub fn programs() -> PathBuf {
    target().join("release")
}
