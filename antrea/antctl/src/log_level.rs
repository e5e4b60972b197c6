//! `antctl log-level`: how much an agent logs.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::api::ComponentApi;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The level from now on: 0 what happens, 2 why, 5 and more everything
    #[arg(value_parser = clap::value_parser!(u8).range(0..=10))]
    level: Option<u8>,
}

/// Prints the level, or sets another.
pub(crate) async fn run(server: Option<&str>, options: &Options) -> Result<ExitCode> {
    let api = ComponentApi::of_agent(server)?;
    match options.level {
        None => println!("{}", api.get("/loglevel", &[]).await?),
        Some(level) => api.put("/loglevel", &[("level", &level.to_string())]).await?,
    }
    Ok(ExitCode::SUCCESS)
}
