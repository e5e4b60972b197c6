//! `cargo xtask conformance SUITE`: public suites on a running lab.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The suite.
    suite: String,
    /// The lab.
    #[arg(long, default_value = "lab")]
    name: String,
}

/// No suite is built yet; each is refused by its name.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    bail!(
        "there is no conformance suite {:?} yet, so lab {:?} was left alone; suites there are: none",
        arguments.suite,
        arguments.name
    )
}
