//! What the switch of this Node has to know of the ClusterSet.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;

use antrea_pipeline::multicluster::{Admits, GatewayRole, RemoteCluster};
use ipnet::{IpNet, Ipv4Net};

use crate::claims::{Claimant, Claims};
use crate::gateway::{LocalGateway, active};
use crate::other_cluster::OtherCluster;
use crate::own_cluster::{OwnCluster, PodToPod};
use crate::probe::PeerGateway;
use crate::problem::Problem;
use crate::read::{ipv4_address, ipv4_network};

/// What this Node does, and the clusters that can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSetPlan {
    /// None while the cluster has no Gateway: nothing goes to other clusters then.
    pub role: Option<GatewayRole>,
    /// What other clusters may open connections to, where this Node is the Gateway and its object says that.
    pub exported: Option<BTreeSet<Ipv4Net>>,
    /// Where this cluster's Gateways on other Nodes send from, by their names: they send for other clusters.
    pub gateways: BTreeMap<String, BTreeSet<Ipv4Addr>>,
    /// By the name of the ClusterInfoImport.
    pub clusters: BTreeMap<String, RemoteCluster>,
    /// Whom this Node asks whether they are there, if it is a Gateway.
    pub peers: BTreeSet<PeerGateway>,
    /// What is wrong, Gateways first, in the order of their names.
    pub problems: Vec<(Subject, Problem)>,
}

/// An object that something is wrong with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The Gateway of this name.
    Gateway(String),
    /// The ClusterInfoImport of this name.
    ClusterInfoImport(String),
}

/// Plans for the Node `own`. Of two clusters with an address the one whose ClusterInfoImport was there first has it; what
/// this cluster has is nobody else's.
pub fn plan(own: &OwnCluster, gateways: &[LocalGateway], clusters: &[OtherCluster]) -> ClusterSetPlan {
    let role = role(own, gateways);
    let mut plan = ClusterSetPlan {
        role,
        exported: role.and_then(|role| exported(own, role, gateways)),
        gateways: other_gateways(own, gateways),
        ..ClusterSetPlan::default()
    };
    for gateway in gateways {
        let subject = || Subject::Gateway(gateway.name.clone());
        plan.problems.extend(gateway.problems().map(|problem| (subject(), problem.clone())));
    }
    let mut claims = Claims::new(own_networks(own, gateways));
    let mut by_seniority: Vec<&OtherCluster> = clusters.iter().collect();
    by_seniority.sort_unstable_by_key(|cluster| cluster.seniority());
    for cluster in by_seniority {
        let mut problems = cluster.problems.clone();
        problems.extend(cluster.tunnel_problem(&own.tunnel));
        let remote = remote_cluster(cluster, own.pod_to_pod, &mut claims, &mut problems);
        if let Some(remote) = remote {
            plan.peers.insert(PeerGateway { cluster: cluster.id.clone(), address: remote.gateway });
            plan.clusters.insert(cluster.name.clone(), remote);
        }
        let subject = Subject::ClusterInfoImport(cluster.name.clone());
        plan.problems.extend(problems.into_iter().map(|problem| (subject.clone(), problem)));
    }
    plan.problems.sort();
    plan
}

/// A Node that has a Gateway object, and not the one that all send to, is the next Gateway.
fn role(own: &OwnCluster, gateways: &[LocalGateway]) -> Option<GatewayRole> {
    let (name, active) = active(gateways)?;
    let gateway = active.internal;
    let own_gateway = own_gateway(own, gateways);
    if name == own.node.as_str() {
        let says = own_gateway.and_then(|own| own.exported.as_ref());
        let admits = says.map_or(Admits::Everything, |_| Admits::Listed);
        return Some(GatewayRole::Gateway { address: active.external, admits });
    }
    Some(match own_gateway.and_then(LocalGateway::sound) {
        Some(own) => GatewayRole::Standby { gateway, address: own.external },
        None => GatewayRole::Regular { gateway },
    })
}

fn own_gateway<'a>(own: &OwnCluster, gateways: &'a [LocalGateway]) -> Option<&'a LocalGateway> {
    gateways.iter().find(|gateway| gateway.name == own.node.as_str())
}

/// The list of a Gateway that has one.
fn exported(own: &OwnCluster, role: GatewayRole, gateways: &[LocalGateway]) -> Option<BTreeSet<Ipv4Net>> {
    let GatewayRole::Gateway { admits: Admits::Listed, .. } = role else { return None };
    Some(own_gateway(own, gateways)?.exported.as_ref()?.networks(own.pod_to_pod))
}

/// Between clusters there is IPv4 alone, between Nodes over IPv4.
fn other_gateways(own: &OwnCluster, gateways: &[LocalGateway]) -> BTreeMap<String, BTreeSet<Ipv4Addr>> {
    let others = gateways.iter().filter(|gateway| gateway.name != own.node.as_str());
    let internal = |gateway: &LocalGateway| ipv4_address(gateway.sound()?.internal);
    others.filter_map(|gateway| Some((gateway.name.clone(), [internal(gateway)?].into()))).collect()
}

/// What this cluster has: its networks, and the addresses of its Nodes and Gateways.
fn own_networks(own: &OwnCluster, gateways: &[LocalGateway]) -> Vec<Ipv4Net> {
    let sound = || gateways.iter().filter_map(LocalGateway::sound);
    let services = sound().filter_map(|addresses| addresses.services);
    let networks = own.networks.iter().copied().map(|network: IpNet| network.trunc()).chain(services);
    let gateways = sound().map(|addresses| addresses.external);
    let nodes = own.node_addresses.iter().copied().filter_map(ipv4_address);
    networks.filter_map(ipv4_network).chain(gateways.chain(nodes).map(Ipv4Net::from)).collect()
}

/// What can be reached of a cluster, if anything can.
fn remote_cluster(
    cluster: &OtherCluster,
    pods: PodToPod,
    claims: &mut Claims,
    problems: &mut Vec<Problem>,
) -> Option<RemoteCluster> {
    let claimant = || Claimant::OtherCluster(cluster.id.clone());
    let mut gateways: Vec<Ipv4Addr> = Vec::new();
    for address in cluster.gateways.iter().copied() {
        match claims.claim(address.into(), claimant()) {
            Ok(()) => gateways.push(address),
            Err((taken, by)) => problems.push(Problem::GatewayTaken { address, taken, by }),
        }
    }
    let mut networks = Vec::new();
    let named = cluster.networks(pods);
    if named.is_empty() {
        problems.push(Problem::NoIpv4Network);
    }
    for network in named {
        match claims.claim(network, claimant()) {
            Ok(()) => networks.push(network),
            Err((taken, by)) => problems.push(Problem::NetworkTaken { network, taken, by }),
        }
    }
    let (gateway, former_gateways) = gateways.split_first()?;
    Some(RemoteCluster { networks, gateway: *gateway, former_gateways: former_gateways.to_vec() })
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway(name) => write!(f, "Gateway {name}"),
            Self::ClusterInfoImport(name) => write!(f, "ClusterInfoImport {name}"),
        }
    }
}

/// A line for the role, one for each cluster and one for each problem.
impl fmt::Display for ClusterSetPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.role {
            None => writeln!(f, "no Gateway")?,
            Some(GatewayRole::Regular { gateway }) => writeln!(f, "by the Gateway {gateway}")?,
            Some(GatewayRole::Standby { gateway, address }) => {
                writeln!(f, "by the Gateway {gateway}, stands by as {address}")?;
            }
            Some(GatewayRole::Gateway { address, .. }) => {
                write!(f, "is the Gateway {address}")?;
                if let Some(exported) = &self.exported {
                    f.write_str(" to")?;
                    exported.iter().try_for_each(|network| write!(f, " {network}"))?;
                }
                writeln!(f)?;
            }
        }
        for (name, cluster) in &self.clusters {
            write!(f, "{name}:")?;
            cluster.networks.iter().try_for_each(|network| write!(f, " {network}"))?;
            write!(f, " by {}", cluster.gateway)?;
            cluster.former_gateways.iter().try_for_each(|former| write!(f, ", formerly {former}"))?;
            writeln!(f)?;
        }
        self.problems
            .iter()
            .try_for_each(|(subject, problem)| writeln!(f, "! {subject}: {}: {problem}", problem.reason()))
    }
}
