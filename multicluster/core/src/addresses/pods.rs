//! Networks of Pods that are claimed for the export of Pods alone, as those of headless Services: each stands or falls by
//! itself, and takes nothing that a member is reached at otherwise.

use std::collections::{BTreeMap, BTreeSet};

use antrea_shared_api::addresses::unusable_part;
use ipnet::IpNet;

use super::cover::{Cover, outermost};
use super::prefixes::Prefixes;
use super::settled::{GIVEN, overlaps};
use super::{
    Claim, ClaimRefused, ClaimedNetwork, Claims, GatewayBindings, GatewayClaim, NetworkUse, networks,
};
use crate::export::Export;
use crate::ids::ClusterId;

/// A network of Pods that is claimed for their export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PodNetwork {
    pub(super) network: ClaimedNetwork,
    /// Whether an admin bound it to the member.
    pub(super) is_bound: bool,
    /// Whether the member had it already.
    pub(super) is_granted: bool,
    /// Whether it is not named itself, but part of one that is.
    pub(super) is_part: bool,
}

impl Claim {
    /// The claim with networks of Pods that are exported, and not reached otherwise.
    pub(crate) fn and_exported_pods(mut self, pod_cidrs: &[IpNet]) -> Self {
        let networks = networks(NetworkUse::Pod, pod_cidrs);
        let unknown = |network| PodNetwork { network, is_bound: false, is_granted: false, is_part: false };
        self.pods.extend(networks.map(unknown));
        self
    }

    /// The claim of a member that has had these networks of Pods: it keeps what it had of a network that has grown, each part
    /// once.
    pub(crate) fn granted(mut self, granted: &BTreeSet<IpNet>) -> Self {
        let had = Cover::of(granted);
        for pods in &mut self.pods {
            pods.is_granted = had.has(&pods.network.cidr);
        }
        let grown: Vec<&PodNetwork> = self.pods.iter().filter(|pods| !pods.is_granted).collect();
        let around = Cover::of(grown.iter().map(|pods| &pods.network.cidr));
        let bound = grown.iter().filter(|pods| pods.is_bound);
        let bound = Cover::of(bound.map(|pods| &pods.network.cidr));
        let claimed = Cover::of(self.claimed.iter().map(|network| &network.cidr));
        let parts = granted.iter().filter(|part| around.has(part) && !claimed.has(part));
        let kept = |network: ClaimedNetwork| {
            let is_bound = bound.has(&network.cidr);
            PodNetwork { network, is_bound, is_granted: true, is_part: true }
        };
        let kept: Vec<PodNetwork> = networks(NetworkUse::Pod, parts).map(kept).collect();
        self.pods.extend(kept);
        self
    }

    /// Whether the member names networks for the export of Pods alone.
    pub(crate) fn names_exported_pods(&self) -> bool {
        !self.pods.is_empty()
    }

    /// The networks of Pods that others reach, or that Pods are exported in.
    pub(crate) fn pod_networks(&self) -> impl Iterator<Item = &IpNet> {
        let claimed = &self.claimed;
        let reached = claimed.iter().filter(|network| network.network_use == NetworkUse::Pod);
        let pods = self.pods.iter().map(|pods| &pods.network.cidr);
        let others = pods.filter(move |network| !claimed.iter().any(|own| own.cidr.contains(*network)));
        reached.map(|network| &network.cidr).chain(others)
    }

    /// Where each network of Pods stands in the claim.
    fn places(&self) -> BTreeMap<ClaimedNetwork, usize> {
        let mut places = BTreeMap::new();
        for (place, pods) in self.pods.iter().enumerate() {
            places.entry(pods.network).or_insert(place);
        }
        places
    }
}

/// Networks of Pods that are there before a Gateway: an admin bound them to their members, or these had them already.
pub(super) struct KnownPods<'a>(Prefixes<(&'a ClusterId, PodNetwork)>);

impl<'a> KnownPods<'a> {
    pub(super) fn of(claims: &[&'a Export<Claim>]) -> Self {
        let mut known = Prefixes::default();
        for claim in claims {
            for pods in claim.payload.pods.iter().filter(|pods| pods.is_bound || pods.is_granted) {
                known.insert(pods.network.cidr, (&claim.cluster, *pods));
            }
        }
        Self(known)
    }

    /// Whether a Gateway is in one of another member. What that merely had is no reason against what the leader has known, nor
    /// is anything against what an admin bound.
    pub(super) fn are_around(&self, gateway: &GatewayClaim, bindings: &GatewayBindings) -> bool {
        if bindings.is_bound(&gateway.cluster, gateway.address) {
            return false;
        }
        self.0.around(gateway.address).any(|(cluster, pods)| {
            **cluster != gateway.cluster && (pods.is_bound || gateway.recorded.is_none())
        })
    }
}

impl Claims {
    /// Gives members the networks that they export Pods in: to one that an admin has bound them to, to the one that had them,
    /// to the oldest. `claims` come in the order of their age.
    pub(super) fn settle_pods(&mut self, claims: &[&Export<Claim>]) {
        let mut claimed: Vec<(&ClusterId, PodNetwork)> = Vec::new();
        for claim in claims.iter().filter(|claim| !self.is_refused(&claim.cluster)) {
            claimed.extend(claim.payload.pods.iter().map(move |pods| (&claim.cluster, *pods)));
        }
        // Those of one kind stay in their order.
        claimed.sort_by_key(|(_, pods)| (!pods.is_bound, !pods.is_granted));
        let mut granted = BTreeMap::<&ClusterId, Vec<PodNetwork>>::new();
        for (cluster, pods) in claimed {
            if self.has_room_for_pods(cluster, &pods) {
                self.exported_pods.insert(pods.network, cluster);
                granted.entry(cluster).or_default().push(pods);
            } else if !pods.is_part
                && let Some(own) = self.standing.get_mut(cluster)
            {
                own.refused_pods.push(pods.network);
            }
        }
        for claim in claims {
            let Some(own) = self.standing.get_mut(&claim.cluster) else { continue };
            own.pods = granted.remove(&claim.cluster).map(stands).unwrap_or_default();
            // What stands is the same in whatever order it was looked at.
            let places = claim.payload.places();
            own.pods.sort_by_key(|pods| places.get(&pods.network).copied());
            own.refused_pods.sort_by_key(|network| places.get(network).copied());
        }
    }

    /// Whether a member may export Pods in a network. What an admin bound to it another one may have had.
    fn has_room_for_pods(&self, cluster: &ClusterId, pods: &PodNetwork) -> bool {
        self.pod_problems(cluster, pods.network).is_empty()
            && (pods.is_bound || self.former_of_others(cluster, pods.network).next().is_none())
    }

    /// Why members do not export Pods in some networks, once it is known who has what.
    pub(super) fn refused_exports_of_pods(&self) -> BTreeMap<ClusterId, Vec<ClaimRefused>> {
        let refused = self.standing.iter().filter(|(_, own)| !own.refused_pods.is_empty());
        let problems = |(cluster, own): (&ClusterId, &Claim)| {
            let of_network = |network: &ClaimedNetwork| match self.pod_problems(cluster, *network) {
                problems if !problems.is_empty() => problems,
                _ => self.former_of_others(cluster, *network).collect(),
            };
            (cluster.clone(), own.refused_pods.iter().flat_map(of_network).collect())
        };
        refused.map(problems).collect()
    }

    /// Why a cluster may not export Pods in a network. What others are reached at goes before it: their networks, and their
    /// Gateways, but for those that are looked at later.
    fn pod_problems(&self, cluster: &ClusterId, claimed: ClaimedNetwork) -> Vec<ClaimRefused> {
        if unusable_part(&claimed.cidr).is_some() {
            return vec![ClaimRefused::Unusable(claimed)];
        }
        let there =
            self.networks.overlapping(&claimed.cidr).chain(self.exported_pods.overlapping(&claimed.cidr));
        overlaps(there, cluster, claimed).take(GIVEN).chain(self.gateways_in(cluster, claimed)).collect()
    }
}

/// Networks of Pods that are a member's: the same however it came to that.
fn stands(granted: Vec<PodNetwork>) -> Vec<PodNetwork> {
    let granted = outermost(granted, |pods| pods.network.cidr).into_iter();
    granted.map(|pods| PodNetwork { is_granted: true, is_part: false, ..pods }).collect()
}
