//! Networks of Pods that are claimed for the export of Pods alone, as those of headless Services: each stands or falls by
//! itself, and takes nothing that a member is reached at otherwise.

use std::collections::BTreeMap;

use antrea_shared_api::addresses::unusable_part;
use ipnet::IpNet;

use super::{Claim, ClaimRefused, ClaimedNetwork, Claims, NetworkUse, networks};
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
}

impl Claim {
    /// The claim with networks of Pods that are exported, and not reached otherwise.
    pub(crate) fn and_exported_pods(mut self, pod_cidrs: &[IpNet]) -> Self {
        let networks = networks(NetworkUse::Pod, pod_cidrs);
        self.pods.extend(networks.map(|network| PodNetwork { network, is_bound: false, is_granted: false }));
        self
    }

    /// The claim of a member that has had these networks of Pods: it keeps what it had of a network that has grown.
    pub(crate) fn granted(mut self, granted: &[IpNet]) -> Self {
        let mut kept = Vec::new();
        for pods in &mut self.pods {
            let cidr = pods.network.cidr;
            pods.is_granted = granted.iter().any(|granted| granted.contains(&cidr));
            if !pods.is_granted {
                let parts = granted.iter().filter(|granted| cidr.contains(*granted));
                let parts = networks(NetworkUse::Pod, parts);
                kept.extend(parts.map(|network| PodNetwork { network, is_granted: true, ..*pods }));
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
        self.exported().filter(|network| network.network_use == NetworkUse::Pod).map(|network| &network.cidr)
    }

    /// What stands of a claim before it is known which networks the member may export Pods in.
    pub(super) fn without_exported_pods(&self) -> Self {
        Self { pods: Vec::new(), ..self.clone() }
    }

    fn grant(&mut self, pods: PodNetwork) {
        self.pods.retain(|other| !pods.network.cidr.contains(&other.network.cidr));
        // What stands is the same however it came to that.
        self.pods.push(PodNetwork { is_granted: true, ..pods });
    }
}

impl Claims {
    /// Gives members the networks that they export Pods in: to one that an admin has bound them to, to the one that had them,
    /// to the oldest. `claims` come in the order of their age.
    pub(super) fn settle_pods(
        &mut self,
        claims: &[&Export<Claim>],
    ) -> BTreeMap<ClusterId, Vec<ClaimRefused>> {
        let mut claimed: Vec<(&ClusterId, PodNetwork)> = Vec::new();
        for claim in claims.iter().filter(|claim| !self.is_refused(&claim.cluster)) {
            claimed.extend(claim.payload.pods.iter().map(move |pods| (&claim.cluster, *pods)));
        }
        // Those of one kind stay in their order.
        claimed.sort_by_key(|(_, pods)| (!pods.is_bound, !pods.is_granted));
        let mut refused = BTreeMap::<ClusterId, Vec<ClaimRefused>>::new();
        for (cluster, pods) in claimed {
            let problems = self.pod_problems(cluster, &pods);
            let Some(own) = self.standing.get_mut(cluster) else { continue };
            if problems.is_empty() {
                own.grant(pods);
                self.exported_pods.insert(pods.network, cluster);
            } else {
                own.refused_pods.push(pods.network);
                refused.entry(cluster.clone()).or_default().extend(problems);
            }
        }
        refused
    }

    /// Why a cluster may not export Pods in a network. What others are reached at goes before it: their networks, and their
    /// Gateways, unless it had the network before these.
    fn pod_problems(&self, cluster: &ClusterId, pods: &PodNetwork) -> Vec<ClaimRefused> {
        let claimed = pods.network;
        if unusable_part(&claimed.cidr).is_some() {
            return vec![ClaimRefused::Unusable(claimed)];
        }
        let there =
            self.networks.overlapping(&claimed.cidr).chain(self.exported_pods.overlapping(&claimed.cidr));
        let overlaps = there.filter(|(_, other)| other != cluster).map(|(others, other)| {
            ClaimRefused::Overlap { claimed, cluster: other.clone(), others: *others }
        });
        let gateways = self.gateways.within(&claimed.cidr).filter(|(address, other, _)| {
            !pods.is_granted && *other != cluster && self.check_gateway(other, *address).is_ok()
        });
        let around = gateways.map(|(address, other, joined)| ClaimRefused::Gateway {
            claimed,
            cluster: other.clone(),
            address,
            joined,
        });
        overlaps.chain(around).collect()
    }
}
