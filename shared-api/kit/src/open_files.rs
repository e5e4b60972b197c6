//! How many files a process may have open; each connection is one.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Allows as many as the kernel lets the process allow itself. Container runtimes start programs with 1,024, for the sake of
/// old ones that cannot have more.
///
/// # Errors
/// When the kernel refuses.
pub fn allow_most() -> nix::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)
}
