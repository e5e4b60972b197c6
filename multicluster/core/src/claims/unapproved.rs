//! Networks that a member claims and that no admin has bound to it, where it needs that.

use std::collections::BTreeSet;

use ipnet::IpNet;

use super::Said;
use crate::addresses::{BoundNetworks, Claim, ClaimedNetwork, Claims};
use crate::ids::ClusterId;

/// Networks of a member that an admin may bind to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unapproved {
    /// The member does not have these.
    pub left_out: Vec<ClaimedNetwork>,
    /// It has these because it had them before networks needed approval.
    pub held: Vec<ClaimedNetwork>,
    /// What is bound to it and is no network.
    pub unreadable: Vec<String>,
    /// The networks that would have to be bound, for the member to have all that it claims and nobody else has. None
    /// where that would give it nothing, or take something from it.
    pub wanted: Vec<IpNet>,
    /// Why other networks that it claims are not among these: what is bound goes before all that others have.
    pub of_others: Vec<String>,
    /// Of these, what it has: a command without them would take them from it, and that is why there is none.
    pub at_stake: Vec<ClaimedNetwork>,
    /// The ServiceAccount that they would be bound to, where the member has one.
    pub account: Option<String>,
}

impl Unapproved {
    /// Nothing where a member may have all that it claims.
    pub(super) fn of(
        cluster: &ClusterId,
        said: &Said,
        settled: &Claims,
        bound: &BoundNetworks<'_>,
    ) -> Option<Self> {
        let claim = said.networks.as_ref().map(|claim| &claim.payload);
        let left_out = claim.map(Claim::unapproved).unwrap_or_default().to_vec();
        let held = claim.map(Claim::held).unwrap_or_default().to_vec();
        let binding = &said.approval.binding;
        if left_out.is_empty() && held.is_empty() && binding.unreadable.is_empty() {
            return None;
        }
        let unreadable = binding.unreadable.clone();
        let account = binding.accounts.first().cloned();
        let mut all = Self { left_out, held, unreadable, account, ..Self::default() };
        // What it has of a network that has grown is not claimed by itself.
        let has = settled.standing(cluster).into_iter().flat_map(Claim::exported);
        let has: BTreeSet<ClaimedNetwork> = has.copied().collect();
        let claimed = claim.into_iter().flat_map(Claim::all).chain(&has);
        let unbound = claimed.filter(|network| !binding.has(&network.cidr)).copied();
        for network in unbound.collect::<BTreeSet<ClaimedNetwork>>() {
            let problem = settled.not_to_be_bound(cluster, network).map(|problem| problem.to_string());
            let Some(problem) = problem.or_else(|| bound_to_another(cluster, &network, bound)) else {
                all.wanted.push(network.cidr);
                continue;
            };
            all.of_others.push(problem);
            all.at_stake.extend(has.contains(&network).then_some(network));
        }
        all.and_what_is_bound(&binding.networks);
        Some(all)
    }

    /// What is bound stays so, where more is to be bound or what stands there has to be put right. What is in a command is all
    /// that the member has from then on.
    fn and_what_is_bound(&mut self, bound: &[IpNet]) {
        let mut needed = self.left_out.iter().chain(&self.held);
        let is_needed =
            !self.unreadable.is_empty() || needed.any(|network| self.wanted.contains(&network.cidr));
        if !is_needed {
            self.at_stake.clear();
        }
        if !is_needed || !self.at_stake.is_empty() {
            self.wanted.clear();
            return;
        }
        self.wanted.extend(bound);
        self.wanted.sort();
        self.wanted.dedup();
    }
}

/// That an admin has bound part of a network to another cluster, which need not be a member yet.
fn bound_to_another(
    cluster: &ClusterId,
    claimed: &ClaimedNetwork,
    bound: &BoundNetworks<'_>,
) -> Option<String> {
    let (bound, other) = bound.of_another(cluster, &claimed.cidr)?;
    Some(format!("{claimed} overlaps {bound}, which is bound to cluster {other}"))
}
