//! What would come of something that a member wants to say: webhooks ask before it is written.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use super::said::{Networks, Said, claim_of};
use super::{ClaimBook, settle};
use crate::addresses::{AddressRefused, Claim, ClaimRefused, ClaimedNetwork, Claims, NetworkUse};
use crate::bindings::Approval;
use crate::ids::ClusterId;
use crate::wire::claim_of_cluster_info;

/// The claims of all before and after a member says something else. Networks that Pods are exported in are left out: those
/// cost other members nothing.
#[derive(Clone, Debug)]
pub struct Foreseen<'a> {
    cluster: &'a ClusterId,
    approval: &'a Approval,
    old: Networks<'a>,
    new: Networks<'a>,
    before: Claims,
    after: Claims,
}

impl ClaimBook {
    /// What would come of it when a member, which may have networks by this approval, says `new` in the place of `old`.
    pub fn foresee<'a>(
        &self,
        cluster: &'a ClusterId,
        approval: &'a Approval,
        old: Networks<'a>,
        new: Networks<'a>,
    ) -> Foreseen<'a> {
        let with = |networks| {
            let own = Said::new(cluster, networks, approval.clone());
            if self.is_settled() && self.said.get(cluster) == own.as_ref() {
                return self.settled.clone().without_exported_pods();
            }
            let others = self.said.iter().filter(|(other, _)| *other != cluster).map(|(_, said)| said);
            settle(others.chain(&own), &self.bound).0.without_exported_pods()
        };
        Foreseen { cluster, approval, old, new, before: with(old), after: with(new) }
    }
}

impl Foreseen<'_> {
    /// Why the announce may not become that; nothing where it may. Nobody loses a network or a Gateway to it, unless an admin
    /// has bound the network. A claim of what another member keeps is let in, and refused when claims are settled, so that
    /// both clusters are told.
    pub fn refused_announce(&self) -> Vec<ClaimRefused> {
        let known = claimed(self.old);
        let unusable = self.after.problems(self.cluster, &claimed(self.new)).into_iter();
        let unusable = unusable.filter(|problem| match problem {
            ClaimRefused::Unusable(network) => !known.networks().any(|known| known == network),
            ClaimRefused::Overlap { .. } | ClaimRefused::Former { .. } | ClaimRefused::Gateway { .. } => {
                false
            }
        });
        unusable.chain(self.taken()).collect()
    }

    /// Why the ClusterInfo may not become that; nothing where it may. Nobody loses anything to it. Networks that the member
    /// may not have are no reason while it has some: the leader leaves them out, and Gateways beside them count, without which
    /// the member would be cut off. Where it has none, nothing of it would be imported, and it names nothing that is another's:
    /// what others merely claim, and do not have, is no reason.
    pub fn refused_info(&self) -> Vec<ClaimRefused> {
        let taken = self.taken();
        if !taken.is_empty() || self.after.has_some(self.cluster) {
            return taken;
        }
        let reasons = [self.lacking(), self.told()];
        reasons.into_iter().find(|problems| !problems.is_empty()).unwrap_or_default()
    }

    /// Whose network a Gateway at this address would be in. Nobody loses a network to a Gateway that no admin has bound.
    pub fn refused_gateway(&self, address: IpAddr) -> Option<AddressRefused> {
        let is_bound = self.approval.binding.gateways.has(address);
        let before = Some(&self.before).filter(|_| !is_bound);
        let foreign = |claims: &Claims| match claims.check(self.cluster, address) {
            Err(problem @ AddressRefused::Foreign { .. }) => Some(problem),
            _ => None,
        };
        foreign(&self.after).or_else(|| before.and_then(foreign))
    }

    /// What other members have, and would lose. What an admin bound to the member is not taken from anybody.
    fn taken(&self) -> Vec<ClaimRefused> {
        let claimed: Vec<ClaimedNetwork> = claimed(self.new).networks().copied().collect();
        let mut problems = self.before.all_problems(self.cluster, &claimed);
        problems.retain(|problem| {
            let is_lost = match problem {
                ClaimRefused::Overlap { cluster, others, .. } => !self.after.has(cluster, others),
                // One in a network that the member had a short time ago keeps nobody from claiming it again.
                ClaimRefused::Gateway { cluster, address, .. } => {
                    !self.after.has_address(cluster, *address)
                        && !self.before.is_former(self.cluster, &IpNet::from(*address))
                }
                // Its owner does not claim it.
                ClaimRefused::Former { .. } | ClaimRefused::Unusable(_) => false,
            };
            is_lost && !self.approval.binding.has(&problem.claimed().cidr)
        });
        problems
    }

    /// What the member claims by it and would not have.
    fn lacking(&self) -> Vec<ClaimRefused> {
        let problems = |claims: &Claims, networks: Networks<'_>| {
            let lacking = claimed(networks).without(|network| claims.has(self.cluster, network));
            claims.problems(self.cluster, &lacking)
        };
        new_ones(problems(&self.before, self.old), problems(&self.after, self.new))
    }

    /// Networks that it names, and that others have: routes to them are made whatever the member exports. Those of Pods that
    /// its Nodes name the leader leaves out.
    fn told(&self) -> Vec<ClaimRefused> {
        let problems = |claims: &Claims, networks: Networks<'_>| {
            let info = networks.info.and_then(|info| info.spec.cluster_info.as_ref());
            let claim = info.and_then(|info| claim_of_cluster_info(info).0);
            claims.problems(self.cluster, &claim.unwrap_or_default())
        };
        let announces = self.new.announce.into_iter();
        let of_nodes = announces.flat_map(|announce| &announce.node_pod_cidrs);
        let of_nodes: Vec<IpNet> = of_nodes.filter_map(|cidr| cidr.parse().ok()).collect();
        let mut problems = new_ones(problems(&self.before, self.old), problems(&self.after, self.new));
        problems.retain(|problem| {
            let claimed = problem.claimed();
            claimed.network_use == NetworkUse::Service
                || !of_nodes.iter().any(|of| of.contains(&claimed.cidr))
        });
        problems
    }
}

/// What a cluster claims for others to use, whether it may have it or not.
fn claimed(networks: Networks<'_>) -> Claim {
    claim_of(networks).0.unwrap_or_default()
}

fn new_ones(known: Vec<ClaimRefused>, mut problems: Vec<ClaimRefused>) -> Vec<ClaimRefused> {
    let known: BTreeSet<ClaimRefused> = known.into_iter().collect();
    problems.retain(|problem| !known.contains(problem));
    problems
}
