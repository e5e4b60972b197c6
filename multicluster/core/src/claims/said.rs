//! What one member says of itself, in its announce and its ClusterInfo, and what the leader wrote down of it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use antrea_shared_api::multicluster::v1alpha1::{
    ClusterInfo, MOST_GATEWAYS, MOST_HELD_GATEWAYS, MOST_POD_NETWORKS, MOST_WRITTEN_NETWORKS,
    MemberClusterAnnounce, MemberClusterAnnounceStatus, ResourceExport,
};
use ipnet::IpNet;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::addresses::{Claim, FormerNetwork, GatewayClaim, PodConnectivity};
use crate::bindings::{Approval, Approved, Held};
use crate::export::Export;
use crate::ids::ClusterId;
use crate::wire::{claim_of_announce, claim_of_cluster_info};

/// What a cluster says of its networks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Networks<'a> {
    /// In its announce.
    pub announce: Option<&'a MemberClusterAnnounce>,
    /// In its ResourceExport of kind ClusterInfo.
    pub info: Option<&'a ResourceExport>,
}

impl<'a> Networks<'a> {
    /// What a cluster says in these. One whose announce is being deleted is no member any more, and says nothing, though a
    /// finalizer of its own may keep the object forever.
    pub fn of(announce: Option<&'a MemberClusterAnnounce>, info: Option<&'a ResourceExport>) -> Self {
        let is_leaving = announce.is_some_and(|announce| announce.metadata.deletion_timestamp.is_some());
        if is_leaving { Self::default() } else { Self { announce, info } }
    }

    /// Since when the cluster is a member; nothing where it says nothing.
    fn joined(self) -> Option<Timestamp> {
        let announce = self.announce.map(|announce| &announce.metadata);
        announce.or_else(|| self.info.map(|info| &info.metadata)).map(created)
    }
}

/// What a member says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Said {
    pub(super) approval: Approval,
    /// As far as they are approved.
    pub(super) networks: Option<Export<Claim>>,
    /// Those that it had, and does not claim any more.
    pub(super) former: Vec<FormerNetwork>,
    /// Problems of the networks as they are written.
    pub(super) unreadable: Vec<String>,
    /// Networks that its ClusterInfo names.
    pub(super) told: Vec<IpNet>,
    pub(super) gateways: Vec<GatewayClaim>,
}

impl Said {
    /// What a cluster says, and which networks it may have; nothing where it says nothing.
    pub(super) fn new(cluster: &ClusterId, networks: Networks<'_>, approval: Approval) -> Option<Self> {
        let created = networks.joined()?;
        let status = networks.announce.and_then(|announce| announce.status.as_ref());
        let had = had(status);
        let (claim, unreadable) = claim_of(networks);
        let payload = match claim {
            Some(claim) => Some(claim.approved(&approval).recorded(&had).granted(&granted(status))),
            None => bound_endpoints(&approval),
        };
        let told = networks.info.and_then(|info| info.spec.cluster_info.as_ref());
        let told = told.and_then(|info| claim_of_cluster_info(info).0);
        Some(Self {
            former: former(cluster, payload.as_ref(), &had, &approval, created),
            networks: payload.map(|payload| Export { cluster: cluster.clone(), created, payload }),
            unreadable,
            told: told.iter().flat_map(Claim::networks).map(|network| network.cidr).collect(),
            gateways: gateways(cluster, networks.info, status, created),
            approval,
        })
    }
}

/// What of the networks of a cluster it may not have; nothing where an admin has said which are its own.
pub fn to_be_held(networks: Networks<'_>, approval: &Approval) -> Vec<IpNet> {
    if approval.binding.is_exact {
        return Vec::new();
    }
    let claim = claim_of(networks).0.map(|claim| claim.approved(approval));
    let mut held: Vec<IpNet> = claim.iter().flat_map(Claim::unapproved).map(|network| network.cidr).collect();
    held.sort();
    held.dedup();
    held
}

/// What the leader wrote into an announce of what the member had before networks needed approval.
pub fn recorded(announce: &MemberClusterAnnounce) -> Held {
    let status = announce.status.iter();
    let held = status.flat_map(|status| &status.held_networks);
    Held::These(held.filter_map(|network| network.parse().ok()).collect())
}

/// The networks that the leader wrote down as those of the member, and since when they are.
fn had(status: Option<&MemberClusterAnnounceStatus>) -> BTreeMap<IpNet, Timestamp> {
    let networks = status.into_iter().flat_map(|status| status.networks.iter().take(MOST_WRITTEN_NETWORKS));
    networks.filter_map(|held| Some((held.cidr.parse::<IpNet>().ok()?.trunc(), held.since.0))).collect()
}

/// Of these networks those that the member does not claim any more, but for what an admin would not let it have.
fn former(
    cluster: &ClusterId,
    claim: Option<&Claim>,
    had: &BTreeMap<IpNet, Timestamp>,
    approval: &Approval,
    joined: Timestamp,
) -> Vec<FormerNetwork> {
    let nothing = Claim::default();
    let unclaimed = claim.unwrap_or(&nothing).unclaimed(had);
    let former = |(network, since): (&IpNet, &Timestamp)| FormerNetwork {
        cluster: cluster.clone(),
        network: *network,
        since: *since,
        joined,
    };
    unclaimed.filter(|(network, _)| approval.of(network) != Approved::No).map(former).collect()
}

/// The networks of Pods that it wrote down.
fn granted(status: Option<&MemberClusterAnnounceStatus>) -> BTreeSet<IpNet> {
    let networks = status.into_iter().flat_map(|status| status.pod_cidrs.iter().take(MOST_POD_NETWORKS));
    networks.filter_map(|network| network.parse::<IpNet>().ok()).map(|network| network.trunc()).collect()
}

/// What a member claims that names no networks: nothing. Where an admin bound networks to it, its endpoints are in these.
fn bound_endpoints(approval: &Approval) -> Option<Claim> {
    let binding = Some(&approval.binding).filter(|binding| binding.is_exact)?;
    Some(Claim::within(&binding.networks))
}

/// The Gateways that a member names, and those that it had before, as long as these are written down.
fn gateways(
    cluster: &ClusterId,
    info: Option<&ResourceExport>,
    status: Option<&MemberClusterAnnounceStatus>,
    joined: Timestamp,
) -> Vec<GatewayClaim> {
    let recorded = |address: IpAddr| {
        let mut held = status.into_iter().flat_map(|status| &status.gateways);
        held.find(|held| held.gateway_ip.parse() == Ok(address)).map(|held| held.since.0)
    };
    let info = info.and_then(|info| info.spec.cluster_info.as_ref());
    let infos = info.into_iter().flat_map(|info| info.gateway_infos.iter().take(MOST_GATEWAYS));
    let named: BTreeSet<IpAddr> = infos.filter_map(|info| info.gateway_ip.parse().ok()).collect();
    let held = status.into_iter().flat_map(|status| status.gateways.iter().take(MOST_HELD_GATEWAYS));
    let had: BTreeSet<IpAddr> = held.filter_map(|held| held.gateway_ip.parse().ok()).collect();
    let claim = |address: &IpAddr| GatewayClaim {
        cluster: cluster.clone(),
        address: *address,
        recorded: recorded(*address),
        joined,
        is_named: named.contains(address),
    };
    named.union(&had).map(claim).collect()
}

/// What a cluster says, whether it may have it or not.
pub(super) fn claim_of(of: Networks<'_>) -> (Option<Claim>, Vec<String>) {
    let networks: Option<&ClusterInfo> = of.info.and_then(|info| info.spec.cluster_info.as_ref());
    // A member that tells others of the networks that it names for its Pods is reached there.
    let pods = match networks {
        Some(info) if !info.pod_cidrs.is_empty() => PodConnectivity::On,
        _ => PodConnectivity::Off,
    };
    let of_announce = of.announce.map(|announce| claim_of_announce(announce, pods));
    let of_info = || networks.map(claim_of_cluster_info);
    let from = of_announce.filter(|(claim, _)| claim.is_some()).or_else(of_info);
    let (claim, problems) = from.unwrap_or_default();
    (claim, problems.iter().map(ToString::to_string).collect())
}

/// An object that was not created yet is younger than all others.
fn created(metadata: &ObjectMeta) -> Timestamp {
    metadata.creation_timestamp.as_ref().map_or(Timestamp::MAX, |time| time.0)
}
