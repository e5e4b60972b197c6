//! Networks of Pods that are claimed for the export of Pods alone, as those of headless Services: each stands or falls by
//! itself, and takes nothing that a member is reached at otherwise.

use std::collections::BTreeMap;

use antrea_shared_api::addresses::unusable_part;
use ipnet::IpNet;

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
    is_part: bool,
}

impl Claim {
    /// The claim with networks of Pods that are exported, and not reached otherwise.
    pub(crate) fn and_exported_pods(mut self, pod_cidrs: &[IpNet]) -> Self {
        let networks = networks(NetworkUse::Pod, pod_cidrs);
        let unknown = |network| PodNetwork { network, is_bound: false, is_granted: false, is_part: false };
        self.pods.extend(networks.map(unknown));
        self
    }

    /// The claim of a member that has had these networks of Pods: it keeps what it had of a network that has grown.
    pub(crate) fn granted(mut self, granted: &[IpNet]) -> Self {
        let mut kept = Vec::new();
        for pods in &mut self.pods {
            let cidr = pods.network.cidr;
            pods.is_granted = granted.iter().any(|granted| granted.contains(&cidr));
            if !pods.is_granted {
                let is_claimed = |part: &IpNet| self.claimed.iter().any(|own| own.cidr.contains(part));
                let parts = granted.iter().filter(|part| cidr.contains(*part) && !is_claimed(part));
                let parts = networks(NetworkUse::Pod, parts);
                kept.extend(parts.map(|network| PodNetwork {
                    network,
                    is_granted: true,
                    is_part: true,
                    ..*pods
                }));
            }
        }
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

    fn grant(&mut self, pods: PodNetwork) {
        let cidr = pods.network.cidr;
        if self.pods.iter().any(|other| other.network.cidr.contains(&cidr)) {
            return;
        }
        self.pods.retain(|other| !cidr.contains(&other.network.cidr));
        // What stands is the same however it came to that.
        self.pods.push(PodNetwork { is_granted: true, is_part: false, ..pods });
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
        for (cluster, pods) in claimed {
            let is_free = self.pod_problems(cluster, pods.network).is_empty();
            let Some(own) = self.standing.get_mut(cluster) else { continue };
            if is_free {
                own.grant(pods);
                self.exported_pods.insert(pods.network, cluster);
            } else if !pods.is_part {
                own.refused_pods.push(pods.network);
            }
        }
        for claim in claims {
            let Some(own) = self.standing.get_mut(&claim.cluster) else { continue };
            // What stands is the same in whatever order it was looked at.
            let place = |of: &ClaimedNetwork| claim.payload.pods.iter().position(|pods| pods.network == *of);
            own.pods.sort_by_key(|pods| place(&pods.network));
            own.refused_pods.sort_by_key(place);
        }
    }

    /// Why members do not export Pods in some networks, once it is known who has what.
    pub(super) fn refused_exports_of_pods(&self) -> BTreeMap<ClusterId, Vec<ClaimRefused>> {
        let refused = self.standing.iter().filter(|(_, own)| !own.refused_pods.is_empty());
        let problems = |(cluster, own): (&ClusterId, &Claim)| {
            let of_network = |network: &ClaimedNetwork| self.pod_problems(cluster, *network);
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
