//! The commands and flags of antctl, named as upstream names them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use regex::Regex;

use crate::get::Get;
use crate::query::Query;
use crate::{log_level, proxy, trace_packet};

/// The image that is tried where the cluster has no agent yet: this program's own version.
const AGENT_IMAGE: &str = concat!("docker.io/antrea/antrea-agent-debian:", env!("CARGO_PKG_VERSION"));

/// The command line of Antrea.
#[derive(Debug, Parser)]
#[command(name = "antctl", arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// The kubeconfig file; otherwise $KUBECONFIG, ~/.kube/config, or the credentials of the Pod
    #[arg(short, long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The API server, instead of the kubeconfig's, as an https:// URL; for get, query, trace-packet and log-level also
    /// where antctl proxy listens, such as 127.0.0.1:8001
    #[arg(short, long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check a cluster before Antrea is installed, or an installation of Antrea
    Check {
        #[command(subcommand)]
        what: Check,
    },
    /// Print what an agent or the controller knows
    Get {
        #[command(subcommand)]
        what: Get,
    },
    /// Print how much an agent logs, or set it
    #[command(name = "log-level")]
    LogLevel(log_level::Options),
    /// Commands of Antrea Multi-cluster, by antctl-mc on the PATH
    #[command(disable_help_flag = true)]
    Mc(Mc),
    /// Make the API of an agent, or of the controller, available on this machine
    Proxy(proxy::Options),
    /// Ask the controller about something
    Query {
        #[command(subcommand)]
        what: Query,
    },
    /// Print what Open vSwitch would do with a packet
    #[command(name = "trace-packet")]
    TracePacket(trace_packet::Options),
    /// Print the versions of antctl and of what it talks to
    Version,
}

#[derive(Debug, Args)]
pub(crate) struct Mc {
    /// Command and flags of antctl-mc
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Check {
    /// Run pre-installation checks
    Cluster(ClusterOptions),
    /// Run post-installation checks
    Installation(InstallationOptions),
    /// What the Pods of `check installation` answer with
    #[command(hide = true)]
    Serve {
        #[arg(long)]
        port: u16,
    },
    /// What the Pods of `check installation` ask with
    #[command(hide = true)]
    Probe {
        /// A list in JSON
        questions: String,
    },
    /// What the Pods of `check cluster` look at their Node with
    #[command(hide = true)]
    Node {
        #[arg(long, value_delimiter = ',')]
        ports: Vec<u16>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ClusterOptions {
    /// The container image of the Pods that look at the Nodes; antctl has to be in it
    #[arg(long, value_name = "IMAGE", default_value = AGENT_IMAGE)]
    pub(crate) test_image: String,
}

#[derive(Debug, Args)]
pub(crate) struct InstallationOptions {
    /// The Namespace in which Antrea is running
    #[arg(short, long, default_value = "kube-system")]
    pub(crate) namespace: String,

    /// Run only the tests that match this regular expression
    #[arg(long, value_name = "REGEX")]
    pub(crate) run: Option<Regex>,

    /// The container image of the Pods that ask and answer, with antctl in it; otherwise the image of the agents,
    /// which the Nodes have already
    #[arg(long, value_name = "IMAGE")]
    pub(crate) test_image: Option<String>,

    /// What Pods have to reach outside of the cluster
    #[arg(long, value_name = "HOST:PORT", default_value = "google.com:80", value_parser = host_and_port)]
    pub(crate) outside: String,
}

fn host_and_port(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(text.to_owned()),
        _ => Err("expected HOST:PORT, such as example.com:443 or [2001:db8::1]:80".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::try_parse_from(line.split(' ')).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_are_those_of_upstream() {
        Arguments::command().debug_assert();
        let line = "antctl check installation -n antrea --run pod-to-pod --test-image a:1 -k /etc/kubeconfig";
        let arguments = parse(line).unwrap();
        assert_eq!(arguments.kubeconfig, Some(PathBuf::from("/etc/kubeconfig")));
        let Command::Check { what: Check::Installation(options) } = arguments.command else {
            panic!("{line}")
        };
        assert_eq!(options.namespace, "antrea");
        assert_eq!(options.test_image.as_deref(), Some("a:1"));
        assert!(options.run.unwrap().is_match("pod-to-pod-internode-connectivity"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let error = parse("antctl check installation --run (").unwrap_err();
        assert!(error.contains("unclosed group"), "{error}");
        let error = parse("antctl check installation --outside example.com").unwrap_err();
        assert!(error.contains("expected HOST:PORT"), "{error}");
    }

    #[test]
    fn commands_and_flags_are_those_of_upstream() {
        for line in [
            "antctl get pi -n default a -o json",
            "antctl get podinterfaces -o yaml",
            "antctl get of -p a -n default",
            "antctl get ovsflows -S s -n default",
            "antctl get ovsflows -N p -n default",
            "antctl get ovsflows -T Output,1",
            "antctl get ovsflows -G all",
            "antctl get ovsflows --table-names-only",
            "antctl get ai -s 127.0.0.1:8001",
            "antctl get featuregates",
            "antctl get networkpolicy 6c9413ed-92ef-4012-9fe1-86a7598ba197 -o raw",
            "antctl get netpol -S allow-http -n ns1 -T acnp --sort-by=effectivePriority",
            "antctl get networkpolicies -p ns1/pod1 --sort-by=",
            "antctl get ag --sort-by .metadata.name",
            "antctl get appliedtogroups -o json",
            "antctl get ci",
            "antctl query endpoint -p pod1 -n ns1 -o yaml",
            "antctl proxy --controller",
            "antctl trace-packet -S a/b -D c/d -p antrea-gw0 -f tcp,tcp_dst=80 -F 4",
            "antctl log-level 4",
            "antctl proxy --agent-node n1 -p 8002 --address 127.0.0.2",
        ] {
            assert!(parse(line).is_ok(), "{line}: {}", parse(line).unwrap_err());
        }
    }

    #[test]
    fn flags_that_go_ill_together_are_refused() {
        for (line, error) in [
            ("antctl get of -p a", "--namespace"),
            ("antctl get of -p a -n b -T Output", "cannot be used with"),
            ("antctl log-level 11", "11 is not in 0..=10"),
            ("antctl trace-packet -F 5", "invalid value '5'"),
            ("antctl proxy", "--agent-node"),
            ("antctl proxy --controller --agent-node n", "cannot be used with"),
            ("antctl get ovsflow", "unrecognized subcommand"),
            ("antctl get networkpolicy -T CNP", "invalid value 'CNP'"),
            ("antctl get networkpolicy a/b", "is not a name of an object"),
            ("antctl get networkpolicy --sort-by .a[x]", "is not a path of fields"),
            ("antctl query endpoint", "--pod"),
        ] {
            let refused = parse(line).unwrap_err();
            assert!(refused.contains(error), "{line}: {refused}");
        }
    }
}
