//! The parts of a member as components of a process.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use antrea_kit::components::Components;
use antrea_mc_core::addresses::EndpointAddresses;
use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::well_known::{DERIVED_PREFIX, label};
use antrea_types::IpFamily;
use ipnet::IpNet;
use kube::Client;
use tokio::sync::watch;

use crate::engine::{self, Part};
use crate::export::{
    Exported, ExportedPods, Exporter, LabelExporter, LabelIdentities, Membership, Networks, PodNetworks,
};
use crate::gateway::{Election, Failed, Handovers, NodeIpKind, Participation, Reports};
use crate::import::{Beyond, ImportLimits, Importer};
use crate::kind::Kind;
use crate::leader::{self, Connect, Facts, Joined, Leader, Link, Tokens};
use crate::objects::SERVICE_LABEL;
use crate::watches::{Keep, Watched};
use crate::withdrawals::Withdrawals;

/// What a member is told by its configuration and learned of its cluster.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The Namespace of the controller: of ClusterSet, Secret, Gateway and ClusterInfoImports.
    pub namespace: String,
    /// The networks of the cluster. The families of ClusterIPs are those of the Service CIDRs, in their order.
    pub networks: Networks,
    /// Which networks Pods are exported in (`podCIDRs`).
    pub pods: PodNetworks,
    /// The networks of Pods that the Nodes of the cluster name; nothing before they are known.
    pub nodes: watch::Receiver<Option<Vec<IpNet>>>,
    /// Which addresses are exported (`endpointIPType`).
    pub addresses: EndpointAddresses,
    /// Which address of the Gateway's Node other clusters use (`gatewayIPPrecedence`).
    pub precedence: NodeIpKind,
    /// Whether labels of Pods are exported (`enableStretchedNetworkPolicy`).
    pub label_identities: LabelIdentities,
    /// The Secret with the token for the leader, where not the one that the ClusterSet names (`member.tokenSecret`).
    pub token_secret: Option<String>,
    /// How long the tokens last that the leader is asked for (`member.tokenLifetime`); API servers give no less than 10
    /// minutes.
    pub token_lifetime: Duration,
    /// Namespaces of which nothing is exported or imported (`member.excludedNamespaces`).
    pub excluded_namespaces: BTreeSet<String>,
    /// The version of the controller, for the leader.
    pub version: String,
}

/// Starts the components of a member.
pub fn add_to(components: &mut Components, client: &Client, settings: &Settings) {
    add(components, client, settings, leader::connect);
}

pub(crate) fn add(components: &mut Components, client: &Client, settings: &Settings, connect: Connect) {
    let (known, leader) = watch::channel(Leader::Unknown);
    let facts = Facts {
        networks: settings.networks.clone(),
        pods: settings.pods,
        nodes: settings.nodes.clone(),
        addresses: settings.addresses,
        version: settings.version.clone(),
    };
    let tokens = Tokens { secret: settings.token_secret.clone(), lifetime: settings.token_lifetime };
    let namespace = settings.namespace.clone();
    components.add("leader-connection", |stop| {
        leader::run(client.clone(), namespace, facts, tokens, connect, known, stop)
    });
    let (settings, client) = (|| settings.clone(), || client.clone());
    components.add("importer", |stop| engine::run(Imports(settings()), client(), leader.clone(), stop));
    components.add("exporter", |stop| engine::run(Exports(settings()), client(), leader.clone(), stop));
    components.add("gateway", |stop| engine::run(Gateways(settings()), client(), leader.clone(), stop));
    components.add("label-exporter", |stop| engine::run(Labels(settings()), client(), leader, stop));
}

pub(crate) struct Imports(pub(crate) Settings);
pub(crate) struct Exports(pub(crate) Settings);
pub(crate) struct Gateways(pub(crate) Settings);
struct Labels(Settings);

/// The name of a cluster that is in no ClusterSet, where something wants one; nothing is exported under it.
fn nobody() -> Option<ClusterId> {
    "none".parse().ok()
}

impl Part for Imports {
    type Area = Importer;

    fn local(&self) -> Vec<Watched> {
        let keep = Keep::ForImports(self.0.addresses);
        vec![
            Watched::all(Kind::Namespace),
            Watched { keep, ..Watched::all(Kind::Service) },
            Watched { keep, ..slices_of_services() },
            Watched::all(Kind::Tier),
            Watched { keep: Keep::Prefix(DERIVED_PREFIX), ..Watched::all(Kind::ClusterNetworkPolicy) },
            Watched::all(Kind::ServiceImport),
            Watched::of(Kind::ClusterInfoImport, &self.0.namespace),
            Watched::all(Kind::LabelIdentity),
        ]
    }

    fn remote(&self, leader: &Joined) -> Vec<Watched> {
        vec![Watched::of(Kind::ResourceImport, &leader.area)]
    }

    fn area(&self, leader: &Leader) -> Option<Importer> {
        let (cluster, area) = match leader {
            Leader::Unknown => return None,
            Leader::None => (nobody()?, String::new()),
            Leader::Away { cluster, area, .. } => (cluster.clone(), area.clone()),
            Leader::Joined(joined) if joined.link == Link::Connecting => return None,
            Leader::Joined(joined) => (joined.cluster.clone(), joined.area.clone()),
        };
        Some(Importer {
            cluster,
            namespace: self.0.namespace.clone(),
            area,
            families: families(&self.0.networks.service_cidrs),
            addresses: self.0.addresses,
            own_networks: own_networks(&self.0.networks, leader),
            excluded: self.0.excluded_namespaces.clone(),
            labels: self.0.label_identities,
            limits: ImportLimits::of(&self.0.networks.service_cidrs),
            beyond: Beyond::default(),
            withdrawals: Withdrawals::default(),
        })
    }
}

impl Part for Exports {
    type Area = Exporter;

    fn local(&self) -> Vec<Watched> {
        vec![
            Watched { keep: Keep::Exported, ..Watched::all(Kind::Service) },
            Watched { keep: Keep::Exported, ..slices_of_services() },
            Watched::all(Kind::ServiceExport),
            Watched::of(Kind::Gateway, &self.0.namespace),
        ]
    }

    fn remote(&self, leader: &Joined) -> Vec<Watched> {
        vec![own_exports(leader, "!=")]
    }

    fn area(&self, leader: &Leader) -> Option<Exporter> {
        let (cluster, membership) = membership(leader)?;
        Some(Exporter {
            cluster,
            namespace: self.0.namespace.clone(),
            addresses: self.0.addresses,
            networks: self.0.networks.clone(),
            pods: exported_pods(leader)?,
            nodes: match self.0.pods {
                PodNetworks::Named => Vec::new(),
                // Before they are known, Pods that are exported would be taken for others.
                PodNetworks::OfNodes => self.0.nodes.borrow().clone()?,
            },
            membership,
            excluded: self.0.excluded_namespaces.clone(),
            refusals: BTreeMap::new(),
            refused_once: BTreeSet::new(),
            withdrawals: Withdrawals::default(),
            exported: Exported::default(),
        })
    }
}

/// The part of the leader in exports, and who exports; nothing before the leader has said whether this cluster is the
/// member of its ID, and not another that would lose its exports.
fn membership(leader: &Leader) -> Option<(ClusterId, Membership)> {
    let joined = |area: &str, unreachable| Membership::Joined { area: area.to_owned(), unreachable };
    Some(match leader {
        Leader::Unknown => return None,
        Leader::None => (nobody()?, Membership::None),
        Leader::Away { cluster, area, why } => (cluster.clone(), joined(area, Some(why.clone()))),
        Leader::Joined(leader) if leader.link == Link::Connecting => return None,
        Leader::Joined(leader) => (leader.cluster.clone(), joined(&leader.area, leader.link.fault())),
    })
}

fn slices_of_services() -> Watched {
    Watched { labels: Some(SERVICE_LABEL.to_owned()), ..Watched::all(Kind::EndpointSlice) }
}

/// The networks that no other cluster has, whatever the leader says. Nothing is imported while there is no way to it.
fn own_networks(networks: &Networks, leader: &Leader) -> Vec<IpNet> {
    let nodes = match leader {
        Leader::Joined(joined) => joined.nodes.as_slice(),
        Leader::Unknown | Leader::None | Leader::Away { .. } => &[],
    };
    [networks.service_cidrs.as_slice(), &networks.pod_cidrs, nodes].concat()
}

/// The Pods that the leader takes, none where it cannot be reached and has not said; nothing while nobody knows. As long as it
/// cannot be reached nothing is written to it, and what Gateways list does not depend on what it takes.
fn exported_pods(leader: &Leader) -> Option<ExportedPods> {
    match leader {
        Leader::Joined(joined) if joined.link.fault().is_some() => {
            Some(joined.pods.clone().unwrap_or_default())
        }
        Leader::Joined(joined) => joined.pods.clone(),
        Leader::Unknown | Leader::None | Leader::Away { .. } => Some(ExportedPods::default()),
    }
}

/// The exports of this cluster whose kind is LabelIdentity (`=`), or is not (`!=`): there may be thousands of those.
fn own_exports(leader: &Joined, is: &str) -> Watched {
    let own =
        format!("{}={},{}{is}LabelIdentity", label::SOURCE_CLUSTER_ID, leader.cluster, label::SOURCE_KIND);
    Watched { labels: Some(own), ..Watched::of(Kind::ResourceExport, &leader.area) }
}

impl Part for Labels {
    type Area = LabelExporter;

    fn local(&self) -> Vec<Watched> {
        match self.0.label_identities {
            LabelIdentities::Kept => Vec::new(),
            LabelIdentities::Exported => vec![Watched::all(Kind::Namespace), Watched::all(Kind::Pod)],
        }
    }

    fn remote(&self, leader: &Joined) -> Vec<Watched> {
        vec![own_exports(leader, "=")]
    }

    fn area(&self, leader: &Leader) -> Option<LabelExporter> {
        let (cluster, membership) = membership(leader)?;
        Some(LabelExporter { cluster, membership, labels: self.0.label_identities })
    }
}

impl Part for Gateways {
    type Area = Election;

    fn local(&self) -> Vec<Watched> {
        vec![Watched::all(Kind::Node), Watched::of(Kind::Gateway, &self.0.namespace)]
    }

    fn remote(&self, _: &Joined) -> Vec<Watched> {
        Vec::new()
    }

    fn area(&self, leader: &Leader) -> Option<Election> {
        let participation = match leader {
            Leader::Unknown => return None,
            Leader::None => Participation::None,
            Leader::Away { .. } | Leader::Joined(_) => Participation::Member,
        };
        Some(Election {
            namespace: self.0.namespace.clone(),
            precedence: self.0.precedence,
            service_cidrs: self.0.networks.service_cidrs.clone(),
            participation,
            reports: Reports::default(),
            failed: Failed::default(),
            handovers: Handovers::default(),
        })
    }
}

/// The families of networks, in their order.
fn families(networks: &[IpNet]) -> Vec<IpFamily> {
    let mut families: Vec<IpFamily> = networks.iter().map(IpFamily::of_net).collect();
    families.dedup();
    families
}

#[cfg(test)]
mod tests;
