//! antctl-mc: makes a ClusterSet, lets clusters join and leave it, and says how it is. `antctl mc` runs it.

mod access;
mod check;
mod cli;
mod cluster;
mod controller_config;
mod deploy;
mod destroy;
mod end_membership;
mod get;
mod held_set;
mod init;
mod join;
mod join_config;
mod join_parameters;
mod leave;
mod member_token;
mod objects;
mod output;
mod status;
#[cfg(test)]
mod tests;
mod values;
mod wait;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use cli::{Arguments, Command, Create, Delete};
use cluster::Cluster;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Nothing can be done about a closed standard error.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    match run(arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(Arguments { kubeconfig, server, command }: Arguments) -> Result<ExitCode> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(async {
            let cluster = access::open(kubeconfig, server).await?;
            perform(&cluster, &command, &mut std::io::stdout()).await
        })
}

async fn perform(cluster: &Cluster, command: &Command, out: &mut dyn Write) -> Result<ExitCode> {
    match command {
        Command::Init(options) => init::run(cluster, options, out).await?,
        Command::Join(options) => join::run(cluster, options, out).await?,
        Command::Leave(options) => leave::run(cluster, options, out).await?,
        Command::Destroy(options) => destroy::run(cluster, options, out).await?,
        Command::Create { what: Create::MemberToken(options) } => {
            member_token::create(cluster, options, out).await?;
        }
        Command::Delete { what: Delete::MemberToken(options) } => {
            member_token::delete(cluster, options, out).await?;
        }
        Command::Deploy { what } => deploy::run(cluster, what, out).await?,
        Command::Get { what } => get::run(cluster, what, out).await?,
        Command::Status(options) => return status::run(cluster, options, out).await,
        Command::Check(options) => return check::run(cluster, options, out).await,
    }
    Ok(ExitCode::SUCCESS)
}
