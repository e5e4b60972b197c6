//! `antctl query`: questions that the controller answers.

mod endpoint;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use crate::access::Way;
use crate::api::ComponentApi;
use crate::output::{self, Output};

#[derive(Debug, Subcommand)]
pub(crate) enum Query {
    /// Print the policies that apply to a Pod, and the rules of others that name it
    #[command(visible_alias = "endpoints")]
    Endpoint {
        #[command(flatten)]
        options: endpoint::Options,
        #[command(flatten)]
        output: Output,
    },
}

/// Asks, and prints the answer.
pub(crate) async fn run(way: &Way, what: &Query) -> Result<ExitCode> {
    let Query::Endpoint { options, output } = what;
    let api = ComponentApi::of_controller_itself(way).await?;
    let answer = api.get("/endpoint", &options.parameters()).await?;
    print!("{}", output::text(&answer, output.format, endpoint::tables));
    Ok(ExitCode::SUCCESS)
}
