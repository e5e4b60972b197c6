//! `cargo xtask guest COMMAND …`: runs a command on this machine's files under a kernel with Open vSwitch's module.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use antrea_e2e::guest::{Guest, Mebibytes, Preparation};
use antrea_e2e::{packages, preflight};
use anyhow::{Result, bail};
use clap::Args;

use xtask::project;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Memory of the guest, in MiB. What the command writes is kept there, too.
    #[arg(long, default_value_t = 2048)]
    memory: u32,
    /// Ends the guest after so many minutes.
    #[arg(long, default_value_t = 20)]
    minutes: u64,
    /// The file for what the guest's kernel says [default: test-logs/guest-console.log in cargo's target folder]
    #[arg(long)]
    console: Option<PathBuf>,
    /// The command and its arguments; it runs in the current folder, as root.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Ends as the command does.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    preflight::check_root()?;
    packages::ensure_installed()?;
    let guest = match Guest::prepare()? {
        Preparation::Ready(guest) => guest,
        Preparation::Unavailable(reason) => bail!("this machine cannot have a guest: {reason}"),
    };
    let limit = Duration::from_secs(60 * arguments.minutes);
    let memory = Mebibytes(arguments.memory);
    let console = match &arguments.console {
        Some(file) => file.clone(),
        None => project::test_logs()?.join("guest-console.log"),
    };
    let code = guest.run(memory, &arguments.command, &mut io::stdout(), &console, limit)?;
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
