//! What the replica that was elected does: it leads, is a member, or both.

use std::collections::BTreeSet;
use std::sync::Arc;

use antrea_kit::components::Components;
use antrea_kit::leases::Leadership;
use antrea_mc_leader::{Censuses, Feeds, LeaderConfig};
use antrea_mc_member::Settings;
use antrea_mc_member::export::{Networks, PodNetworks};
use anyhow::Result;
use futures::TryFutureExt;
use futures::future::try_join_all;
use ipnet::IpNet;
use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::cli::Mode;
use crate::config::{Config, Member, PodCidrs};
use crate::follow::follow;
use crate::identity::Identity;
use crate::{claims, networks};

/// What there is to do.
pub(crate) struct Roles {
    client: Client,
    leader: Option<LeaderConfig>,
    member: Option<Membership>,
}

/// A member before its networks are known.
#[derive(Clone, Debug)]
struct Membership {
    namespace: String,
    config: Member,
    version: &'static str,
}

impl Roles {
    pub(crate) fn new(
        client: Client,
        mode: Mode,
        config: &Config,
        identity: &Identity,
        version: &'static str,
    ) -> Self {
        let own = &identity.namespace;
        let leader = mode.leads().then(|| LeaderConfig {
            namespaces: common_areas(config, own),
            times: config.leader.times,
            limits: config.leader.limits,
            censuses: Censuses::default(),
            feeds: Feeds::default(),
        });
        let member = mode.is_member().then(|| Membership {
            namespace: config.member.namespace.clone().unwrap_or_else(|| own.clone()),
            config: config.member.clone(),
            version,
        });
        Self { client, leader, member }
    }

    /// The Namespaces of the Common Areas that are led.
    pub(crate) fn common_areas(&self) -> &[String] {
        self.leader.as_ref().map(|leader| leader.namespaces.as_slice()).unwrap_or_default()
    }

    /// Where the leader says how much there is.
    pub(crate) fn censuses(&self) -> Censuses {
        self.leader.as_ref().map(|leader| leader.censuses.clone()).unwrap_or_default()
    }

    /// Where the leader learns what webhooks watch.
    pub(crate) fn feeds(&self) -> Feeds {
        self.leader.as_ref().map(|leader| leader.feeds.clone()).unwrap_or_default()
    }

    /// The Namespace of the ClusterSet that this cluster is a member of.
    pub(crate) fn member_namespace(&self) -> Option<&str> {
        self.member.as_ref().map(|member| member.namespace.as_str())
    }

    /// Works while this replica is elected, until `stop`.
    ///
    /// # Errors
    /// A component that ended by itself.
    pub(crate) async fn run(
        self,
        leadership: watch::Receiver<Leadership>,
        stop: CancellationToken,
    ) -> Result<()> {
        let start = |leadership: &Leadership| match leadership {
            Leadership::Leading => Some(self.components()),
            Leadership::Following => None,
        };
        follow(leadership, start, stop).await
    }

    /// Wherever there are ClusterSets.
    fn heed_claims(&self, stop: CancellationToken) -> impl Future<Output = Result<()>> + use<> {
        let own = self.member_namespace().into_iter();
        let namespaces: BTreeSet<String> =
            self.common_areas().iter().map(String::as_str).chain(own).map(str::to_owned).collect();
        let client = self.client.clone();
        let run = move |namespace| claims::run(client.clone(), namespace, stop.clone());
        try_join_all(namespaces.into_iter().map(run)).map_ok(drop)
    }

    fn components(&self) -> Components {
        let mut components = Components::new();
        if let Some(leader) = &self.leader {
            components.add("leader", |stop| antrea_mc_leader::run(self.client.clone(), leader.clone(), stop));
        }
        if let Some(member) = &self.member {
            member.add_to(&mut components, &self.client);
        }
        components.add("cluster-claims", |stop| self.heed_claims(stop));
        components
    }
}

/// The Namespaces of the Common Areas.
fn common_areas(config: &Config, own: &str) -> Vec<String> {
    match config.leader.namespaces.as_slice() {
        [] => vec![own.to_owned()],
        namespaces => namespaces.to_vec(),
    }
}

impl Membership {
    /// A member begins once its networks are known, and anew when they change.
    fn add_to(&self, components: &mut Components, client: &Client) {
        let (found, networks) = watch::channel(self.config.service_cidrs.clone());
        if self.config.service_cidrs.is_none() {
            components.add("service-cidr", |stop| networks::run(client.clone(), found, stop));
        }
        let (seen, nodes) = watch::channel(None);
        components.add("pod-networks", |stop| networks::of_nodes(client.clone(), seen, self.pods(), stop));
        let (member, client) = (Arc::new(self.clone()), client.clone());
        components.add("member", |stop| {
            let start = move |networks: &Option<Vec<IpNet>>| {
                let mut components = Components::new();
                let settings = member.settings(networks.as_deref()?, nodes.clone());
                antrea_mc_member::add_to(&mut components, &client, &settings);
                Some(components)
            };
            follow(networks, start, stop)
        });
    }

    fn pods(&self) -> PodNetworks {
        match self.config.pod_cidrs {
            PodCidrs::Named(_) => PodNetworks::Named,
            PodCidrs::OfNodes => PodNetworks::OfNodes,
        }
    }

    fn settings(&self, service_cidrs: &[IpNet], nodes: watch::Receiver<Option<Vec<IpNet>>>) -> Settings {
        let Member {
            precedence,
            addresses,
            label_identities,
            token_secret,
            token_lifetime,
            excluded_namespaces,
            ..
        } = &self.config;
        let pod_cidrs = match &self.config.pod_cidrs {
            PodCidrs::Named(networks) => networks.clone(),
            PodCidrs::OfNodes => Vec::new(),
        };
        Settings {
            namespace: self.namespace.clone(),
            networks: Networks { service_cidrs: service_cidrs.to_vec(), pod_cidrs },
            pods: self.pods(),
            nodes,
            addresses: *addresses,
            precedence: *precedence,
            label_identities: *label_identities,
            token_secret: token_secret.clone(),
            token_lifetime: *token_lifetime,
            excluded_namespaces: excluded_namespaces.clone(),
            version: self.version.to_owned(),
        }
    }
}
