//! Runs the programs that take whole batches: `iptables-restore`, `ipset restore` and their `save` twins.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::blocking;

/// A program failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The program cannot be run, or nothing can be written to it.
    #[error("cannot run `{command}`")]
    Run {
        /// The command line.
        command: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The program says that it failed.
    #[error("`{command}` failed ({status}): {message}")]
    Failed {
        /// The command line.
        command: String,
        /// Its exit status.
        status: ExitStatus,
        /// What it wrote to standard error.
        message: String,
    },
}

/// What the `iptables` programs exit with when another one holds their lock, or has changed the rules meanwhile.
const RESOURCE_PROBLEM: i32 = 4;

impl CommandError {
    /// Whether the same command may succeed later, though nothing else has changed.
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Self::Run { source, .. } => source.kind() == io::ErrorKind::TimedOut,
            Self::Failed { status, .. } => status.code() == Some(RESOURCE_PROBLEM),
        }
    }
}

/// None of these programs takes longer, unless it waits for what never comes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a command with `input` as its standard input, and returns its standard output.
pub(crate) async fn run(command: &[&str], input: &str) -> Result<String, CommandError> {
    run_within(PATIENCE, command, input).await
}

async fn run_within(patience: Duration, command: &[&str], input: &str) -> Result<String, CommandError> {
    let line = || command.join(" ");
    timeout(patience, run_process(command, input))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        .map_err(|source| CommandError::Run { command: line(), source })
        .and_then(|output| {
            if output.status.success() {
                return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
            }
            let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(CommandError::Failed { command: line(), status: output.status, message })
        })
}

async fn run_process(command: &[&str], input: &str) -> io::Result<std::process::Output> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // The program is read from the disk before this returns.
    let mut child = blocking(|| command.spawn())?;
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(input.as_bytes()).await {
            // The program ended early and says why on standard error.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            other => other?,
        }
    }
    child.wait_with_output().await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(script: &str, patience: Duration, busy: bool) {
        let error = run_within(patience, &["sh", "-c", script], "").await.unwrap_err();
        assert_eq!(error.is_busy(), busy, "{error:?}");
    }

    #[tokio::test]
    async fn whoever_finds_the_lock_held_or_takes_too_long_is_busy_and_whoever_is_refused_is_not() {
        check("exit 4", PATIENCE, true).await;
        check("exec sleep 1000", Duration::from_millis(50), true).await;
        check("exit 1", PATIENCE, false).await;
        check("no-such-program", PATIENCE, false).await;
    }
}
