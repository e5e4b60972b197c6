//! Doing something in a network namespace: sockets that are made there stay there.

use std::fs::File;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, setns};

/// Does `work` on a thread of its own in the network namespace that a file stands for.
///
/// # Errors
/// When there is no such namespace, or what `work` returns.
pub fn within<T: Send>(path: &Path, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let visit = || {
        setns(file, CloneFlags::CLONE_NEWNET).context("cannot enter a network namespace")?;
        work()
    };
    thread::scope(|scope| scope.spawn(visit).join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)))
}
