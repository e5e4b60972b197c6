//! The connection to the leader: who it is, with which credentials, and whether it answers.

mod announce;
mod client;
mod connection;
mod credentials;
mod fault;
mod identity;
mod leaving;
mod pods;
mod renewal;
mod status;
mod token_request;

use std::sync::Arc;
use std::time::Duration;

use antrea_mc_core::ids::ClusterId;
use ipnet::IpNet;
use kube::Client;

pub(crate) use client::connect;
pub(crate) use connection::{Connect, Facts, run};
pub(crate) use credentials::secret_name;
pub use credentials::{Credentials, Renewable, Target, Unusable, Wish, unusable, wish};
pub use fault::{Class, Fault};
pub use leaving::leaving;
pub use renewal::{Pace, Renewal};
pub use status::{Link, Said, status};

use crate::export::ExportedPods;
use crate::kind::Kind;

/// The kinds of objects that the leader has.
pub(crate) const KINDS: [Kind; 3] = [Kind::MemberClusterAnnounce, Kind::ResourceExport, Kind::ResourceImport];

/// Where the member's token is, and how it is renewed.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    /// The Secret, where not the one that the ClusterSet names.
    pub(crate) secret: Option<String>,
    /// How long new ones last.
    pub(crate) lifetime: Duration,
}

/// What is known of the leader.
#[derive(Clone)]
pub(crate) enum Leader {
    /// Nothing yet.
    Unknown,
    /// This cluster is in no ClusterSet.
    None,
    /// There is one, and no way to it: the ClusterSet or the credentials are unusable, or another cluster is the member.
    /// Nothing is withdrawn.
    Away {
        /// This cluster, as it is called in the ClusterSet.
        cluster: ClusterId,
        /// The Namespace of the Common Area; empty where the ClusterSet does not say.
        area: String,
        /// What is in the way.
        why: Class,
    },
    /// There is one.
    Joined(Arc<Joined>),
}

/// A leader.
pub(crate) struct Joined {
    /// This cluster, as it is called in the ClusterSet.
    pub(crate) cluster: ClusterId,
    /// The Namespace of the Common Area.
    pub(crate) area: String,
    /// To the leader's API server.
    pub(crate) client: Client,
    /// Another number for each connection.
    pub(crate) connection: u64,
    /// How the connection fares.
    pub(crate) link: Link,
    /// Another number each time that the leader says something else of our networks.
    pub(crate) answer_revision: u64,
    /// Which Pods it takes; nothing before it has heard of their networks.
    pub(crate) pods: Option<ExportedPods>,
    /// The networks of Pods of our own Nodes, as far as they are known.
    pub(crate) nodes: Vec<IpNet>,
}
