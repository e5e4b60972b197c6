//! Network namespaces: what is done in one, by us or by a program.

use std::fs::File;
use std::process::Command;
use std::thread;

use antrea_e2e::command::command;
use antrea_e2e::processes::namespace_path;
use anyhow::{Context, Result};
use nix::sched::{CloneFlags, setns};

/// A program in a network namespace.
pub(crate) fn program_in(namespace: &str, program: &str) -> Command {
    command("ip", &["netns", "exec", namespace, program])
}

/// Does `work` on a thread in a network namespace; sockets that it makes stay there.
pub(crate) fn within<T: Send>(namespace: &str, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let path = namespace_path(namespace);
    let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
    let visit = || {
        setns(file, CloneFlags::CLONE_NEWNET).context("cannot enter a network namespace")?;
        work()
    };
    thread::scope(|scope| scope.spawn(visit).join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)))
}
