//! antrea-controller: what a cluster needs once. It computes NetworkPolicies for the agents, keeps the default Tiers and
//! the objects that tell about the controller and the agents, and says that policies of Antrea are not enforced.

mod api;
mod app;
mod cli;
mod computation;
mod identity;
mod info;
mod policies;
mod tiers;

use std::process::ExitCode;

use antrea_config::ControllerConfig;
use anyhow::{Context, Result};
use clap::Parser;
use cli::Arguments;
use mimalloc::MiMalloc;

/// A quarter of the time in which a large cluster is computed is saved.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

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
    let config = match read_config(&arguments) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::from(USAGE);
        }
    };
    match run(&arguments, &config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("antrea-controller ended: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn read_config(arguments: &Arguments) -> Result<ControllerConfig> {
    let Some(path) = &arguments.config else {
        return Ok(ControllerConfig::parse("defaults", "")?);
    };
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {file}"))?;
    Ok(ControllerConfig::parse(&file, &text)?)
}

fn run(arguments: &Arguments, config: &ControllerConfig) -> Result<()> {
    let log = antrea_kit::logging::init(arguments.verbosity).context("cannot write the log")?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(app::run(config, &identity::Identity::from_environment()?, log))
}
