//! The commands and flags of antrea-mc-controller.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// The controller of Antrea Multi-cluster.
#[derive(Debug, Parser)]
#[command(name = "antrea-mc-controller", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Lead ClusterSets: merge what their members export
    Leader(Options),
    /// Make this cluster a member of a ClusterSet
    Member(Options),
    /// Lead ClusterSets, and be a member of one, in one process
    Both(Options),
    /// Print what a leader makes of ResourceExports, without a cluster
    Merge(Merge),
}

/// What the controller does for this cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Leads.
    Leader,
    /// Is led.
    Member,
    /// Both.
    Both,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Leader => "leader",
            Self::Member => "member",
            Self::Both => "both",
        })
    }
}

impl Mode {
    /// Whether it leads.
    pub(crate) const fn leads(self) -> bool {
        matches!(self, Self::Leader | Self::Both)
    }

    /// Whether it is a member.
    pub(crate) const fn is_member(self) -> bool {
        matches!(self, Self::Member | Self::Both)
    }
}

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The configuration file, controller_manager_config.yaml; every key has its default without one
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The kubeconfig; without one, the credentials of the Pod
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The Namespace of the controller, instead of the variable POD_NAMESPACE
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// How much to log: 0 tells what happens, 2 also why, 5 everything
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value_t = 0)]
    pub(crate) verbosity: u8,
}

#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// Files with ResourceExports, YAML or JSON, several documents or a List each; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_commands_are_those_of_upstream_and_ours() {
        Arguments::command().debug_assert();
        let parse =
            |line: &str| Arguments::try_parse_from(line.split(' ')).map(|arguments| arguments.command);
        let Command::Leader(options) =
            parse("antrea-mc-controller leader --config=/etc/antrea/a.yaml --v=4").unwrap()
        else {
            panic!("another command");
        };
        assert_eq!(options.config, Some(PathBuf::from("/etc/antrea/a.yaml")));
        assert_eq!((options.verbosity, options.kubeconfig, options.namespace), (4, None, None));
        assert!(matches!(
            parse("antrea-mc-controller both --namespace kube-system --kubeconfig k -v 2"),
            Ok(Command::Both(_))
        ));
        assert!(parse("antrea-mc-controller merge").is_err());
    }
}
