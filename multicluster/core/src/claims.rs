//! The networks and Gateways that members claim: networks in their announces, or else, as upstream members do, in their
//! ClusterInfo, where all Gateways are.

mod unapproved;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use antrea_shared_api::multicluster::v1alpha1::{ClusterInfo, MemberClusterAnnounce, ResourceExport};
use ipnet::IpNet;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::addresses::{Claim, ClaimRefused, Claims, GatewayClaim, PodConnectivity, Refused};
use crate::bindings::{Approval, Held};
use crate::export::Export;
use crate::ids::ClusterId;
use crate::wire::{claim_of_announce, claim_of_cluster_info};

pub use unapproved::Unapproved;

/// What all members claim.
#[derive(Clone, Debug, Default)]
pub struct ClaimBook {
    said: BTreeMap<ClusterId, Said>,
    settled: Claims,
    /// What each member is told of claims that do not stand: its own, and those of others for what it has.
    refused: Told,
    contested: Told,
    unapproved: BTreeMap<ClusterId, Unapproved>,
}

/// What a member says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
struct Said {
    approval: Approval,
    /// As far as they are approved.
    networks: Option<Export<Claim>>,
    /// Problems of the networks as they are written.
    unreadable: Vec<String>,
    /// Networks that its ClusterInfo names.
    told: Vec<IpNet>,
    gateways: Vec<GatewayClaim>,
}

/// Sentences about claims that do not stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objections {
    /// Of networks.
    pub networks: Vec<String>,
    /// Of networks of Pods that are exported and not reached otherwise.
    pub pods: Vec<String>,
    /// Of Gateways.
    pub gateways: Vec<String>,
}

/// What is different once claims are settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concerned {
    /// Clusters whose networks are others than before.
    pub networks: BTreeSet<ClusterId>,
    /// Clusters whose Gateways are others than before.
    pub gateways: BTreeSet<ClusterId>,
    /// Clusters that are told something else.
    pub told: BTreeSet<ClusterId>,
}

impl ClaimBook {
    /// Who may export what.
    pub const fn settled(&self) -> &Claims {
        &self.settled
    }

    /// What does not stand of a member's claims.
    pub fn refused(&self, cluster: &ClusterId) -> Option<&Objections> {
        self.refused.get(cluster)
    }

    /// What is refused to others, as a member has it.
    pub fn contested(&self, cluster: &ClusterId) -> Option<&Objections> {
        self.contested.get(cluster)
    }

    /// The networks that a member has for its Pods: where others reach them, or it exports some in them.
    pub fn pod_networks(&self, cluster: &ClusterId) -> impl Iterator<Item = &IpNet> {
        self.settled.standing(cluster).into_iter().flat_map(Claim::pod_networks)
    }

    /// Why a member does not have some of the networks that it names for the export of Pods alone; nothing where it names
    /// none, or where no network of it stands.
    pub fn refused_pods(&self, cluster: &ClusterId) -> Option<&[String]> {
        let claim = self.said.get(cluster).and_then(|said| said.networks.as_ref());
        let names_some = claim.is_some_and(|claim| claim.payload.names_exported_pods());
        let refused = || self.refused(cluster).map(|refused| refused.pods.as_slice()).unwrap_or_default();
        (names_some && !self.settled.is_refused(cluster)).then(refused)
    }

    /// Networks of a member that no admin has bound to it, where it needs that; nothing where it does not.
    pub fn unapproved(&self, cluster: &ClusterId) -> Option<&Unapproved> {
        self.unapproved.get(cluster)
    }

    /// Takes in what a cluster says of itself, and which networks it may have. Nothing is different before claims are
    /// settled.
    pub fn update(&mut self, cluster: &ClusterId, networks: Networks<'_>, approval: Approval) {
        if networks.announce.is_none() && networks.info.is_none() {
            self.said.remove(cluster);
        } else {
            self.said.insert(cluster.clone(), said(cluster, networks, approval));
        }
    }

    /// Decides who has what; says what is different.
    pub fn settle(&mut self) -> Concerned {
        let (settled, refused) = settle(self.said.values(), |_| true);
        let (refused, contested) = self.objections(refused);
        let of_member = |(cluster, said): (&ClusterId, &Said)| Some((cluster.clone(), Unapproved::of(said)?));
        let unapproved: BTreeMap<ClusterId, Unapproved> = self.said.iter().filter_map(of_member).collect();
        let mut told = &differing(&self.refused, &refused) | &differing(&self.contested, &contested);
        told.extend(differing(&self.unapproved, &unapproved));
        let concerned = Concerned {
            networks: differing(self.settled.all_standing(), settled.all_standing()),
            gateways: differing(&self.settled.all_gateways(), &settled.all_gateways()),
            told,
        };
        (self.settled, self.refused, self.contested) = (settled, refused, contested);
        self.unapproved = unapproved;
        concerned
    }

    /// Whether what a member exports depends on the networks of others: it has none of its own, or tells of further ones.
    pub fn depends_on_others(&self, cluster: &ClusterId) -> bool {
        let Some(standing) = self.settled.standing(cluster) else { return true };
        let mut told = self.said.get(cluster).map(|said| said.told.as_slice()).unwrap_or_default().iter();
        let claimed = |network: &IpNet| standing.exported().any(|claimed| claimed.cidr.contains(network));
        standing.exported().next().is_none() || !told.all(claimed)
    }

    /// What the claims of all clusters but one come to: what that one may not have, however old its own claim is. What
    /// others merely say yields to what an admin bound to it.
    pub fn settled_without(&self, cluster: &ClusterId) -> Claims {
        let binding = self.said.get(cluster).map(|said| &said.approval.binding);
        let yields = |said: &Said| {
            let claimed = said.networks.as_ref().filter(|claim| !claim.payload.is_bound());
            let mut networks = claimed.iter().flat_map(|claim| claim.payload.networks());
            networks.any(|network| binding.is_some_and(|binding| binding.overlaps(&network.cidr)))
        };
        let others = self.said.iter().filter(|(other, _)| *other != cluster).map(|(_, said)| said);
        settle(others, |said| !yields(said)).0.without_exported_pods()
    }

    /// Why the announce of `cluster` may not become `new`; nothing where it may. A claim of a network that an older
    /// claim has is let in, and refused when claims are settled, so that both clusters are told. The claim of an older
    /// announce would win: nobody loses a network, or a Gateway, to that.
    pub fn not_to_be_announced(
        &self,
        cluster: &ClusterId,
        old: Networks<'_>,
        new: Networks<'_>,
    ) -> Vec<ClaimRefused> {
        let others = self.settled_without(cluster);
        let since = old.announce.map_or(Timestamp::MAX, |announce| created(&announce.metadata));
        let is_bound = self.would_be_bound(cluster, new);
        let loses_to = |other: &ClusterId| {
            let theirs = self.said.get(other).and_then(|said| said.networks.as_ref());
            theirs.is_some_and(|theirs| {
                let is_older = (theirs.created, other) < (since, cluster);
                is_older || theirs.payload.is_bound() && !is_bound
            })
        };
        let mut problems = new_problems(&others, cluster, old, new);
        problems
            .retain(|problem| !matches!(problem, ClaimRefused::Overlap { cluster, .. } if loses_to(cluster)));
        let around = |networks: Networks<'_>| {
            let claim = claim_of(cluster, networks).0;
            claim.map(|claim| others.gateways_in(cluster, &claim.payload)).unwrap_or_default()
        };
        let known = around(old);
        let new = around(new).into_iter().filter(|problem| !known.contains(problem));
        problems.extend(new.filter(|problem| !problem.is_older_than(since, cluster)));
        problems
    }

    /// Whether an admin bound all that `cluster` would claim.
    fn would_be_bound(&self, cluster: &ClusterId, networks: Networks<'_>) -> bool {
        let claim = claim_of(cluster, networks).0;
        let approval = self.said.get(cluster).map(|said| &said.approval);
        claim.zip(approval).is_some_and(|(claim, approval)| claim.payload.approved(approval).is_bound())
    }

    fn objections(&self, refused: Refused) -> (Told, Told) {
        let unreadable = self.said.iter().filter(|(_, said)| !said.unreadable.is_empty());
        let of_networks =
            |said: &Said| Objections { networks: said.unreadable.clone(), ..Objections::default() };
        let mut reasons: Told =
            unreadable.map(|(cluster, said)| (cluster.clone(), of_networks(said))).collect();
        let mut contested = Told::new();
        for (cluster, refused) in refused.networks {
            for (owner, told) in refused.iter().filter_map(|problem| problem.told_to_owner(&cluster)) {
                contested.entry(owner.clone()).or_default().networks.push(told);
            }
            let own = refused.iter().map(ToString::to_string);
            reasons.entry(cluster).or_default().networks.extend(own);
        }
        for (cluster, refused) in refused.pods {
            let own = refused.iter().map(ToString::to_string);
            reasons.entry(cluster).or_default().pods.extend(own);
        }
        for (cluster, refused) in refused.gateways {
            for (owner, told) in refused.iter().filter_map(|problem| problem.told_to_owner(&cluster)) {
                contested.entry(owner.clone()).or_default().gateways.push(told);
            }
            let own = refused.iter().map(ToString::to_string);
            reasons.entry(cluster).or_default().gateways.extend(own);
        }
        (reasons, contested)
    }
}

type Told = BTreeMap<ClusterId, Objections>;

/// Settles the claims of members, of networks only those that count.
fn settle<'a>(said: impl Iterator<Item = &'a Said>, counts: impl Fn(&Said) -> bool) -> (Claims, Refused) {
    let (mut networks, mut gateways) = (Vec::new(), Vec::new());
    for said in said {
        networks.extend(said.networks.iter().filter(|_| counts(said)));
        gateways.extend(said.gateways.iter().cloned());
    }
    Claims::settle(&networks, &gateways)
}

/// The keys of what is not the same in both.
fn differing<T: PartialEq>(
    old: &BTreeMap<ClusterId, T>,
    new: &BTreeMap<ClusterId, T>,
) -> BTreeSet<ClusterId> {
    let keys = old.keys().chain(new.keys());
    keys.filter(|key| old.get(*key) != new.get(*key)).cloned().collect()
}

/// Why `cluster` may not say `new` of its networks, beside what all others claim. What `old` claims already is not held
/// against it.
pub fn new_problems(
    others: &Claims,
    cluster: &ClusterId,
    old: Networks<'_>,
    new: Networks<'_>,
) -> Vec<ClaimRefused> {
    let problems = |networks: Networks<'_>| {
        let (claim, _) = claim_of(cluster, networks);
        claim.map(|claim| others.problems(cluster, &claim.payload)).unwrap_or_default()
    };
    let known = problems(old);
    let mut problems = problems(new);
    problems.retain(|problem| !known.contains(problem));
    problems
}

/// What a cluster says of its networks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Networks<'a> {
    /// In its announce.
    pub announce: Option<&'a MemberClusterAnnounce>,
    /// In its ResourceExport of kind ClusterInfo.
    pub info: Option<&'a ResourceExport>,
}

/// What of the networks of `cluster` it may not have; nothing where an admin has said which are its own.
pub fn to_be_held(cluster: &ClusterId, networks: Networks<'_>, approval: &Approval) -> Vec<IpNet> {
    if approval.binding.is_exact {
        return Vec::new();
    }
    let claim = claim_of(cluster, networks).0.map(|claim| claim.payload.approved(approval));
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

/// The networks of Pods that the leader wrote into an announce as those of the member.
fn granted(announce: &MemberClusterAnnounce) -> Vec<IpNet> {
    let networks = announce.status.iter().flat_map(|status| &status.pod_cidrs);
    networks.filter_map(|network| network.parse().ok()).collect()
}

fn said(cluster: &ClusterId, networks: Networks<'_>, approval: Approval) -> Said {
    let (claim, unreadable) = claim_of(cluster, networks);
    let told = networks.info.and_then(|info| info.spec.cluster_info.as_ref());
    let told = told.and_then(|info| claim_of_cluster_info(info).0);
    let told = told.iter().flat_map(Claim::networks).map(|network| network.cidr).collect();
    let gateways = gateways_of(cluster, networks.announce, networks.info);
    let granted = networks.announce.map(granted).unwrap_or_default();
    let networks = match claim {
        Some(claim) => Some(Export { payload: claim.payload.approved(&approval).granted(&granted), ..claim }),
        None => bound_endpoints(cluster, networks, &approval),
    };
    Said { approval, networks, unreadable, told, gateways }
}

/// What a member claims that names no networks: nothing. Where an admin bound networks to it, its endpoints are in these.
fn bound_endpoints(
    cluster: &ClusterId,
    networks: Networks<'_>,
    approval: &Approval,
) -> Option<Export<Claim>> {
    let Networks { announce, info } = networks;
    let metadata = announce.map(|of| &of.metadata).or_else(|| info.map(|of| &of.metadata))?;
    let binding = Some(&approval.binding).filter(|binding| binding.is_exact)?;
    let payload = Claim::within(&binding.networks);
    Some(Export { cluster: cluster.clone(), created: created(metadata), payload })
}

fn gateways_of(
    cluster: &ClusterId,
    announce: Option<&MemberClusterAnnounce>,
    info: Option<&ResourceExport>,
) -> Vec<GatewayClaim> {
    let Some(export) = info else { return Vec::new() };
    let recorded =
        announce.and_then(|announce| announce.status.as_ref()).map(|status| status.gateways.as_slice());
    let recorded = |address: IpAddr| {
        let mut held = recorded.unwrap_or_default().iter();
        held.find(|held| held.gateway_ip.parse() == Ok(address)).map(|held| held.since.0)
    };
    let joined = created(announce.map_or(&export.metadata, |announce| &announce.metadata));
    let infos = export.spec.cluster_info.iter().flat_map(|info| &info.gateway_infos);
    let addresses: BTreeSet<IpAddr> = infos.filter_map(|info| info.gateway_ip.parse().ok()).collect();
    let claim =
        |address| GatewayClaim { cluster: cluster.clone(), address, recorded: recorded(address), joined };
    addresses.into_iter().map(claim).collect()
}

/// What a cluster says, whether it may have it or not.
fn claim_of(cluster: &ClusterId, of: Networks<'_>) -> (Option<Export<Claim>>, Vec<String>) {
    let Networks { announce, info } = of;
    let networks: Option<&ClusterInfo> = info.and_then(|info| info.spec.cluster_info.as_ref());
    // A member that tells others of the networks that it names for its Pods is reached there.
    let pods = match networks {
        Some(info) if !info.pod_cidrs.is_empty() => PodConnectivity::On,
        _ => PodConnectivity::Off,
    };
    let of_announce = announce.map(|announce| (claim_of_announce(announce, pods), &announce.metadata));
    let of_info = || Some((claim_of_cluster_info(networks?), &info?.metadata));
    let from = of_announce.filter(|((claim, _), _)| claim.is_some()).or_else(of_info);
    let Some(((claim, problems), metadata)) = from else { return (None, Vec::new()) };
    let export =
        claim.map(|payload| Export { cluster: cluster.clone(), created: created(metadata), payload });
    (export, problems.iter().map(ToString::to_string).collect())
}

/// An object that was not created yet is younger than all others.
fn created(metadata: &ObjectMeta) -> Timestamp {
    metadata.creation_timestamp.as_ref().map_or(Timestamp::MAX, |time| time.0)
}
