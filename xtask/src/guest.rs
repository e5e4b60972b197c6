//! `cargo xtask guest COMMAND …`: runs a command on this machine's files under a kernel with Open vSwitch's module.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use antrea_e2e::guest::{Guest, Preparation};
use antrea_e2e::{packages, preflight};
use anyhow::{Context, Result, bail};
use clap::Args;

use crate::project;

/// What a command gets in a guest, where it takes about ten times as long as here.
const LIMIT: Duration = Duration::from_secs(20 * 60);

#[derive(Debug, Args)]
pub(crate) struct Arguments {
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
    let code = guest.run(&arguments.command, &mut io::stdout(), &console()?, LIMIT)?;
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

fn console() -> Result<PathBuf> {
    let folder = project::target().join("test-logs");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder.join("guest-console.log"))
}
