//! The networks that members claim: in their announces, or else, as upstream members do, in their ClusterInfo.

use std::collections::BTreeMap;

use antrea_shared_api::multicluster::v1alpha1::{ClusterInfo, MemberClusterAnnounce, ResourceExport};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::addresses::{Claim, ClaimRefused, Claims, PodConnectivity};
use crate::export::Export;
use crate::ids::ClusterId;
use crate::wire::{claim_of_announce, claim_of_cluster_info};

/// What all members claim.
#[derive(Clone, Debug, Default)]
pub struct ClaimBook {
    claimed: BTreeMap<ClusterId, Export<Claim>>,
    /// Problems of the networks as they are written.
    unreadable: BTreeMap<ClusterId, Vec<String>>,
    settled: Claims,
    /// Why claims do not stand.
    refused: BTreeMap<ClusterId, Vec<String>>,
    /// Which refused claims overlap with those that stand.
    contested: BTreeMap<ClusterId, Vec<String>>,
}

impl ClaimBook {
    /// Who may export what.
    pub const fn settled(&self) -> &Claims {
        &self.settled
    }

    /// Why a member's claim does not stand; nothing where it does.
    pub fn refused(&self, cluster: &ClusterId) -> &[String] {
        self.refused.get(cluster).map(Vec::as_slice).unwrap_or_default()
    }

    /// Which refused claims of others overlap with that of a member.
    pub fn contested(&self, cluster: &ClusterId) -> &[String] {
        self.contested.get(cluster).map(Vec::as_slice).unwrap_or_default()
    }

    /// Takes in what a cluster says of its networks. Whether anything that matters to others changes.
    pub fn update(
        &mut self,
        cluster: &ClusterId,
        announce: Option<&MemberClusterAnnounce>,
        info: Option<&ResourceExport>,
    ) -> bool {
        let (claim, problems) = claim_of(cluster, announce, info);
        let same = self.claimed.get(cluster) == claim.as_ref()
            && self.unreadable.get(cluster).map(Vec::as_slice).unwrap_or_default() == problems;
        if same {
            return false;
        }
        put(&mut self.claimed, cluster, claim);
        put(&mut self.unreadable, cluster, Some(problems).filter(|problems| !problems.is_empty()));
        self.settle()
    }

    /// What the claims of all clusters but one come to: what that one may not have, however old its own claim is.
    pub fn settled_without(&self, cluster: &ClusterId) -> Claims {
        let others = self.claimed.iter().filter(|(other, _)| *other != cluster).map(|(_, claim)| claim);
        Claims::settle(&others.collect::<Vec<_>>()).0
    }

    /// Why the announce of `cluster` may not become `new`; nothing where it may. A claim of a network that an older
    /// claim has is let in, and refused when claims are settled, so that both clusters are told. The claim of an older
    /// announce would win: nobody loses a network to that.
    pub fn not_to_be_announced(
        &self,
        cluster: &ClusterId,
        old: Networks<'_>,
        new: Networks<'_>,
    ) -> Vec<ClaimRefused> {
        let since = old.announce.map_or(Timestamp::MAX, |announce| created(&announce.metadata));
        let loses_to = |other: &ClusterId| {
            self.claimed.get(other).is_some_and(|theirs| (theirs.created, other) < (since, cluster))
        };
        let mut problems = new_problems(&self.settled_without(cluster), cluster, old, new);
        problems
            .retain(|problem| !matches!(problem, ClaimRefused::Overlap { cluster, .. } if loses_to(cluster)));
        problems
    }

    fn settle(&mut self) -> bool {
        let claims: Vec<&Export<Claim>> = self.claimed.values().collect();
        let (settled, refused) = Claims::settle(&claims);
        let mut reasons = self.unreadable.clone();
        let mut contested = BTreeMap::<ClusterId, Vec<String>>::new();
        for (cluster, refused) in refused {
            for (owner, told) in refused.iter().filter_map(|problem| problem.told_to_owner(&cluster)) {
                contested.entry(owner.clone()).or_default().push(told);
            }
            reasons.entry(cluster).or_default().extend(refused.iter().map(ToString::to_string));
        }
        let changed = settled != self.settled || reasons != self.refused || contested != self.contested;
        (self.settled, self.refused, self.contested) = (settled, reasons, contested);
        changed
    }
}

fn put<T>(map: &mut BTreeMap<ClusterId, T>, cluster: &ClusterId, value: Option<T>) {
    match value {
        Some(value) => drop(map.insert(cluster.clone(), value)),
        None => drop(map.remove(cluster)),
    }
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
        let (claim, _) = claim_of(cluster, networks.announce, networks.info);
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

fn claim_of(
    cluster: &ClusterId,
    announce: Option<&MemberClusterAnnounce>,
    info: Option<&ResourceExport>,
) -> (Option<Export<Claim>>, Vec<String>) {
    let networks: Option<&ClusterInfo> = info.and_then(|info| info.spec.cluster_info.as_ref());
    // Whoever tells others of its Pods' networks wants to be reached there.
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
