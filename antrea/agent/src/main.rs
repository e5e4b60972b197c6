//! antrea-agent: one process on each Node, which connects its Pods through Open vSwitch.

mod agent_conditions;
mod agent_info;
mod antrea_controller;
mod api;
mod away;
mod bridge;
mod cleanup;
mod datapath_flows;
mod events;
mod flow_restore;
mod former_pods;
mod gateway;
mod host_network;
#[cfg(test)]
mod isolated;
mod multicluster;
mod node;
mod node_routes;
mod observer;
mod ovs_daemons;
mod own_annotation;
mod packet_ins;
mod parts;
mod pods;
mod policies;
mod proxy;
mod random;
mod run;
mod start;
mod survey;
mod tunnel;
mod tunnel_sources;
mod uninstall;
mod uplink;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use antrea_config::AgentConfig;
use antrea_kit::logging::LogLevel;
use antrea_kit::open_files;
use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};
use tracing::{error, info};

/// `EX_USAGE` of sysexits(3): what was asked for cannot be done, whoever starts it again.
const EXIT_USAGE: u8 = 64;

#[derive(Debug, Parser)]
#[command(name = "antrea-agent", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The configuration file, antrea-agent.conf.
    #[arg(long, default_value = "/etc/antrea/antrea-agent.conf")]
    config: PathBuf,
    /// A folder of object files (Nodes, Pods) that stands for the API server: for support and tests.
    #[arg(long, value_name = "DIR")]
    objects: Option<PathBuf>,
    /// How much is logged: 0 what happens, 2 why, 5 everything.
    #[arg(short, long = "v", global = true, default_value_t = 0)]
    verbosity: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run ovsdb-server and ovs-vswitchd, and end when one of them does.
    StartOvs(ovs_daemons::Options),
    /// Have the agent of this Node undo all it did here, or wait until those of all Nodes have.
    Uninstall(uninstall::Options),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let log = match antrea_kit::logging::init(arguments.verbosity) {
        Ok(log) => log,
        Err(error) => {
            eprintln!("the log cannot be written: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = match arguments.command {
        None => return run_agent(&arguments.config, arguments.objects.as_deref(), log),
        Some(Command::StartOvs(options)) => block_on(ovs_daemons::run(&options)),
        Some(Command::Uninstall(options)) => block_on(uninstall::run(&options)),
    };
    exit_code(outcome)
}

/// Nothing is bound, created or changed before the whole configuration is known to be good.
fn run_agent(path: &Path, objects: Option<&Path>, log: LogLevel) -> ExitCode {
    let config = match read_config(path) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    for notice in &config.notices {
        info!(notice, "Configuration has no effect");
    }
    open_files::allow_most_or_warn();
    exit_code(block_on(run::run(config, objects, log)))
}

fn read_config(path: &Path) -> Result<AgentConfig> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the configuration file {name}"))?;
    Ok(AgentConfig::parse(&name, &text)?)
}

/// Threads for calls that block: the kernel's tables of links and of packets, addresses, files of policies, and names, of which
/// each connection to the API server may look one up for half a minute when DNS is away. They are there when they are needed,
/// and for 10 seconds.
const BLOCKING_THREADS: usize = 64;

/// The agent waits more than it computes, and each thread costs memory.
const WORKERS: usize = 2;

fn block_on(future: impl Future<Output = Result<()>>) -> Result<()> {
    runtime()?.block_on(future)
}

fn runtime() -> Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()
        .context("cannot start the runtime")
}

fn exit_code(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!(error = format!("{error:#}"), "Ending after an error");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use antrea_host::blocking;

    use super::*;

    /// As docs/security.md says.
    const MOST_CALLS: usize = 2 + 64;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// For a call that is not to begin: of many that wait, one begins at once where it may.
    const A_WHILE: Duration = Duration::from_millis(500);

    /// Each call that is under way has a thread, be it a worker's or one of those for such calls.
    #[test]
    fn of_calls_that_block_the_agent_has_as_many_under_way_as_it_says_and_makes_the_others_later() {
        let runtime = runtime().unwrap();
        let (begin, begun) = channel();
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock().unwrap();
        let calls = (0..10 * MOST_CALLS).map(|_| {
            let (begin, gate) = (begin.clone(), Arc::clone(&gate));
            runtime.spawn(async move {
                blocking(|| {
                    _ = begin.send(());
                    drop(gate.lock());
                });
            })
        });
        let calls: Vec<_> = calls.collect();
        for call in 1..=MOST_CALLS {
            assert_eq!(begun.recv_timeout(PATIENCE), Ok(()), "call {call} waits for the others");
        }
        assert!(begun.recv_timeout(A_WHILE).is_err(), "{MOST_CALLS} calls are under way, and another one");
        drop(closed);
        calls.into_iter().for_each(|call| runtime.block_on(call).unwrap());
    }
}
