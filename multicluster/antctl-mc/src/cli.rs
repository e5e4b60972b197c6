//! The commands and flags of antctl-mc: those of upstream's `antctl mc`, and `status` and `check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::deploy::Deploy;
use crate::get::Get;
use crate::values::{Lifetime, duration, gateways, id, lifetime, networks};

/// The command line of a ClusterSet.
#[derive(Debug, Parser)]
#[command(name = "antctl-mc", bin_name = "antctl mc", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// The kubeconfig file; otherwise $KUBECONFIG, ~/.kube/config, or the credentials of the Pod
    #[arg(short, long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The API server, instead of the kubeconfig's
    #[arg(short, long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make this cluster the leader of a new ClusterSet
    Init(Init),
    /// Make this cluster a member of a ClusterSet
    Join(Join),
    /// End the membership of this cluster
    Leave(Leave),
    /// Remove the ClusterSet from its leader, this cluster
    Destroy(Destroy),
    /// Create what a member needs
    Create {
        #[command(subcommand)]
        what: Create,
    },
    /// Delete what a member needed
    Delete {
        #[command(subcommand)]
        what: Delete,
    },
    /// Install the Multi-cluster controller
    Deploy {
        #[command(subcommand)]
        what: Deploy,
    },
    /// Print objects of ClusterSets
    Get {
        #[command(subcommand)]
        what: Get,
    },
    /// Say how the ClusterSets of this cluster are; fails unless all are ready
    Status(Status),
    /// Look for what keeps clusters from reaching each other; fails when something is found
    Check(CheckOptions),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Create {
    /// Create the credentials of a member in its leader, this cluster
    #[command(name = "membertoken")]
    MemberToken(CreateMemberToken),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Delete {
    /// Delete the credentials of a member from its leader, this cluster
    #[command(name = "membertoken")]
    MemberToken(DeleteMemberToken),
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The ID of the ClusterSet, and the name of the object
    #[arg(long, value_name = "ID", value_parser = id)]
    pub(crate) clusterset: String,

    /// The ID of this cluster
    #[arg(long, value_name = "ID", value_parser = id)]
    pub(crate) clusterid: String,

    /// The Namespace of the Common Area
    #[arg(short, long)]
    pub(crate) namespace: String,

    /// Write the parameters for `join` to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) join_config_file: Option<PathBuf>,
}

/// What the configuration file says comes before what the flags say.
#[derive(Debug, Default, Args)]
pub(crate) struct Join {
    /// The ID of the ClusterSet
    #[arg(long, value_name = "ID")]
    pub(crate) clusterset: Option<String>,

    /// The ID of this cluster
    #[arg(long, value_name = "ID")]
    pub(crate) clusterid: Option<String>,

    /// The Namespace of the Multi-cluster controller in this cluster [default: kube-system]
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,

    /// The ID of the leader
    #[arg(long, value_name = "ID")]
    pub(crate) leader_clusterid: Option<String>,

    /// The Namespace of the Common Area in the leader
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) leader_namespace: Option<String>,

    /// The URL of the leader's API server
    #[arg(long, value_name = "URL")]
    pub(crate) leader_apiserver: Option<String>,

    /// A Secret of this cluster that has the token already
    #[arg(long, value_name = "NAME")]
    pub(crate) token_secret_name: Option<String>,

    /// The manifest of the Secret with the token, as `create membertoken` writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) token_secret_file: Option<PathBuf>,

    /// The parameters in a file, as `init` writes it
    #[arg(short = 'f', long, value_name = "FILE")]
    pub(crate) config_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Leave {
    /// The ID of the ClusterSet
    #[arg(long, value_name = "ID", required_unless_present = "keep")]
    pub(crate) clusterset: Option<String>,

    /// The Namespace of the Multi-cluster controller in this cluster
    #[arg(short, long, default_value = "kube-system")]
    pub(crate) namespace: String,

    /// Do not wait until the leader knows: it may go on with this cluster as a member that is silent
    #[arg(long)]
    pub(crate) now: bool,

    /// Delete nothing: ClusterSets that are deleted later wait for no leader, as their controller is gone
    #[arg(long, requires = "now", conflicts_with = "clusterset")]
    pub(crate) keep: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Destroy {
    /// The ID of the ClusterSet
    #[arg(long, value_name = "ID")]
    pub(crate) clusterset: String,

    /// The Namespace of the Common Area
    #[arg(short, long)]
    pub(crate) namespace: String,
}

#[derive(Debug, Args)]
pub(crate) struct CreateMemberToken {
    /// The name of the ServiceAccount, and of what belongs to it
    #[arg(value_parser = id)]
    pub(crate) name: String,

    /// The ID of the member
    #[arg(long, value_name = "ID", value_parser = id)]
    pub(crate) cluster_id: String,

    /// The Namespace of the Common Area
    #[arg(short, long)]
    pub(crate) namespace: String,

    /// The networks of Services and Pods that the member may have, as 10.96.0.0/16,10.10.0.0/16: these and no others.
    /// Without them it may have private ones
    #[arg(long, value_name = "CIDR,...", value_parser = networks)]
    pub(crate) networks: Option<String>,

    /// Where the Gateways of the member may be, as 172.18.0.5,172.18.1.0/24: there and nowhere else, and no other member has
    /// one there
    #[arg(long, value_name = "ADDRESS|CIDR,...", value_parser = gateways)]
    pub(crate) gateways: Option<String>,

    /// Write the manifest of the Secret for the member to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output_file: Option<PathBuf>,

    /// How long the token is good for, as 168h, unless the member renews it; `never` expires: for members that cannot
    #[arg(long, value_name = "TIME", default_value = "168h", value_parser = lifetime)]
    pub(crate) lifetime: Lifetime,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteMemberToken {
    /// The name of the ServiceAccount, and of what belongs to it
    pub(crate) name: String,

    /// The Namespace of the Common Area
    #[arg(short, long)]
    pub(crate) namespace: String,

    /// End the membership of its cluster, too, and remove all that the cluster exported
    #[arg(long)]
    pub(crate) end_membership: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The Namespace of a ClusterSet; otherwise all
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,

    /// Wait until all ClusterSets are ready
    #[arg(long)]
    pub(crate) wait: bool,

    /// How long to wait
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// The Namespace of a ClusterSet; otherwise all
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,

    /// Where the core agent has its configuration
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    pub(crate) antrea_namespace: String,
}

#[cfg(test)]
mod tests;
