//! antrea-mc-controller: leads ClusterSets, makes its cluster a member of one, or both.

mod app;
mod claims;
mod cli;
mod config;
mod follow;
mod front;
mod identity;
mod kinds;
mod listen;
mod merge;
mod metrics;
mod networks;
mod roles;
mod webhooks;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use cli::{Arguments, Command, Mode, Options};
use config::Config;
use identity::Identity;

/// Bad flags or a bad configuration file (`EX_USAGE` of sysexits.h).
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Nothing can be done about a closed standard error.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    match &arguments.command {
        Command::Leader(options) => control(Mode::Leader, options),
        Command::Member(options) => control(Mode::Member, options),
        Command::Both(options) => control(Mode::Both, options),
        Command::Merge(options) => merge::run(options),
    }
}

fn control(mode: Mode, options: &Options) -> ExitCode {
    let read = || {
        Ok((read_config(options.config.as_deref())?, Identity::from_environment(options.namespace.clone())?))
    };
    let (config, identity) = match read() {
        Ok(read) => read,
        Err(error) => {
            let error: anyhow::Error = error;
            eprintln!("{error:#}");
            return ExitCode::from(USAGE);
        }
    };
    match run(mode, options, &config, &identity) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("antrea-mc-controller ended: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn read_config(path: Option<&Path>) -> Result<Config> {
    let Some(path) = path else {
        return Ok(Config::parse("defaults", "")?);
    };
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {file}"))?;
    Ok(Config::parse(&file, &text)?)
}

fn run(mode: Mode, options: &Options, config: &Config, identity: &Identity) -> Result<()> {
    antrea_kit::logging::init(options.verbosity).context("cannot write the log")?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(app::run(mode, options.kubeconfig.as_deref(), config, identity))
}
