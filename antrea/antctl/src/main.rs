//! antctl: what people ask of an installation, or of a cluster before there is one, from their own machine or in the
//! containers of Antrea.

mod access;
mod answer;
mod api;
mod check;
mod cli;
mod direct;
mod get;
mod log_level;
mod output;
mod plugin;
mod proxy;
mod query;
mod trace_packet;
mod version;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use cli::{Arguments, Check, Command};

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

fn run(arguments: Arguments) -> Result<ExitCode> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(perform(arguments))
}

async fn perform(Arguments { kubeconfig, server, command }: Arguments) -> Result<ExitCode> {
    match command {
        Command::Check { what: Check::Serve { port } } => check::serve(port).await,
        Command::Check { what: Check::Probe { questions } } => check::ask(&questions).await,
        Command::Check { what: Check::Node { ports } } => check::print_node_facts(&ports),
        Command::Check { what: Check::Installation(options) } => {
            let access = access::Access::open(kubeconfig, server).await?;
            check::installation(&access, &options).await
        }
        Command::Check { what: Check::Cluster(options) } => {
            let access = access::Access::open(kubeconfig, server).await?;
            check::cluster(&access, &options).await
        }
        Command::Get { what } => get::run(&access::Way { kubeconfig, server }, &what).await,
        Command::LogLevel(options) => log_level::run(server.as_deref(), &options).await,
        Command::Mc(mc) => match plugin::become_mc(kubeconfig.as_deref(), server.as_deref(), &mc)? {},
        Command::Proxy(options) => proxy::run(access::Access::open(kubeconfig, server), &options).await,
        Command::Query { what } => query::run(&access::Way { kubeconfig, server }, &what).await,
        Command::TracePacket(options) => trace_packet::run(server.as_deref(), &options).await,
        Command::Version if api::own_component() == Some(api::Component::Agent) => {
            Ok(version::print_with_agent(server.as_deref()).await)
        }
        Command::Version => {
            Ok(version::print_with_controller(access::Access::open(kubeconfig, server).await).await)
        }
    }
}
