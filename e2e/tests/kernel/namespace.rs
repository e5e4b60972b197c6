//! Network namespaces by their names: what is done in one, by us or by a program.

use std::process::Command;

use antrea_e2e::command::command;
use antrea_e2e::namespace;
use antrea_e2e::processes::namespace_path;
use anyhow::Result;

/// A program in a network namespace.
pub(crate) fn program_in(namespace: &str, program: &str) -> Command {
    command("ip", &["netns", "exec", namespace, program])
}

/// Does `work` on a thread in a network namespace; sockets that it makes stay there.
pub(crate) fn within<T: Send>(name: &str, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    namespace::within(&namespace_path(name), work)
}
