//! What would come of something that a member wants to say: webhooks ask before it is written.

use super::said::{Networks, Said, claim_of};
use super::{ClaimBook, settle};
use crate::addresses::{Claim, ClaimRefused, Claims};
use crate::bindings::Approval;
use crate::ids::ClusterId;

impl ClaimBook {
    /// Why the announce of `cluster`, which may have networks by this approval, may not become `new`; nothing where it may.
    /// Nobody loses a network or a Gateway to that, unless an admin has bound the network. A claim of what another member
    /// keeps is let in, and refused when claims are settled, so that both clusters are told.
    pub fn not_to_be_announced(
        &self,
        cluster: &ClusterId,
        approval: &Approval,
        old: Networks<'_>,
        new: Networks<'_>,
    ) -> Vec<ClaimRefused> {
        let (before, after) = (self.with(cluster, approval, old), self.with(cluster, approval, new));
        let claimed = |networks| claim_of(networks).0.unwrap_or_default();
        let (known, claimed) = (claimed(old), claimed(new));
        let is_new = |problem: &ClaimRefused| match problem {
            ClaimRefused::Unusable(network) => !known.networks().any(|known| known == network),
            ClaimRefused::Overlap { .. } | ClaimRefused::Gateway { .. } => false,
        };
        let mut problems = after.problems(cluster, &claimed);
        problems.retain(is_new);
        problems.extend(taken(&before, &after, (cluster, approval), &claimed));
        problems
    }

    /// The claims of all where `cluster` says this.
    fn with(&self, cluster: &ClusterId, approval: &Approval, networks: Networks<'_>) -> Claims {
        let own = Said::new(cluster, networks, approval.clone());
        let others = self.said.iter().filter(|(other, _)| *other != cluster).map(|(_, said)| said);
        settle(others.chain(&own), &self.bound, |_| true).0
    }
}

/// What other members have, and would lose to what `cluster` claims. What an admin bound to it is not taken from anybody.
fn taken(
    before: &Claims,
    after: &Claims,
    (cluster, approval): (&ClusterId, &Approval),
    claimed: &Claim,
) -> Vec<ClaimRefused> {
    let claimed: Vec<_> = claimed.networks().copied().collect();
    let mut problems = before.all_problems(cluster, &claimed);
    problems.retain(|problem| {
        let is_lost = match problem {
            ClaimRefused::Overlap { cluster, others, .. } => !after.has(cluster, others),
            ClaimRefused::Gateway { cluster, address, .. } => !after.has_address(cluster, *address),
            ClaimRefused::Unusable(_) => false,
        };
        is_lost && !approval.binding.has(&problem.claimed().cidr)
    });
    problems
}
