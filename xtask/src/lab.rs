//! `cargo xtask lab`: the command line of the lab.

mod commands;
mod up;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use antrea_e2e::names::{ClusterId, LabName, NodeId, Place};
use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};

pub(crate) use up::UpArguments;

#[derive(Debug, Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
    /// Make a lab and wait until it is ready.
    Up(Box<UpArguments>),
    /// Show the state of a lab, and where its parts are.
    Status {
        #[command(flatten)]
        lab: Name,
        /// The form of the output.
        #[arg(long, default_value = "text")]
        output: Output,
    },
    /// Remove a lab, or what a crash left of it.
    Down {
        #[command(flatten)]
        lab: Name,
    },
    /// Print the path of a cluster's kubeconfig.
    Kubeconfig {
        #[command(flatten)]
        lab: Name,
        /// c1, c2, …
        cluster: ClusterId,
    },
    /// Run a command in a place; its exit code and stdio are passed through.
    Exec {
        #[command(flatten)]
        lab: Name,
        /// c1, c1-n1, router or outside.
        place: Place,
        /// The command and its arguments.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Cut what flows between two clusters or Nodes.
    Partition(Pair),
    /// Restore what flows between two clusters or Nodes.
    Heal(Pair),
    /// Load image archives (docker-archive or OCI) on Nodes.
    LoadImage {
        #[command(flatten)]
        lab: Name,
        /// Only on this Node; all of them otherwise.
        #[arg(long)]
        node: Option<NodeId>,
        /// The archives.
        #[arg(required = true)]
        archives: Vec<PathBuf>,
    },
    /// Print the ends of the logs of what runs outside of Pods.
    Logs {
        #[command(flatten)]
        lab: Name,
        /// c1, c1-n1 or outside; everything otherwise.
        place: Option<Place>,
        /// How many lines of each.
        #[arg(long, default_value_t = 20)]
        tail: usize,
    },
    /// Print the path of a program: kubectl, helm, agnhost, antctl, …
    Tool {
        /// The program.
        name: String,
    },
}

#[derive(Debug, Args)]
struct Name {
    /// The lab's name.
    #[arg(long, default_value = "lab")]
    name: LabName,
}

#[derive(Debug, Args)]
struct Pair {
    #[command(flatten)]
    lab: Name,
    /// A cluster or Node.
    a: Place,
    /// Another one.
    b: Place,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

pub(crate) fn run(arguments: LabArguments) -> Result<ExitCode> {
    match arguments.command {
        LabCommand::Up(arguments) => up::run(&arguments),
        LabCommand::Status { lab, output } => commands::status(&lab.name, output),
        LabCommand::Down { lab } => commands::down(&lab.name),
        LabCommand::Kubeconfig { lab, cluster } => commands::kubeconfig(&lab.name, cluster),
        LabCommand::Exec { lab, place, command } => commands::exec(&lab.name, place, &command),
        LabCommand::Partition(pair) => commands::partition(&pair.lab.name, pair.a, pair.b),
        LabCommand::Heal(pair) => commands::heal(&pair.lab.name, pair.a, pair.b),
        LabCommand::LoadImage { lab, node, archives } => commands::load_image(&lab.name, node, &archives),
        LabCommand::Logs { lab, place, tail } => commands::logs(&lab.name, place, tail),
        LabCommand::Tool { name } => commands::tool(&name),
    }
}
