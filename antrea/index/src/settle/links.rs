//! Which policies and rules use which groups.

use super::Round;
use crate::Index;
use crate::cluster::policies::{Journal, Links};
use crate::cluster::roles::SpanReason;
use crate::intern::pool::{GroupId, PolicyId};

impl Index {
    /// Takes away what policies had, and puts in what they have.
    pub(super) fn relink(&mut self, journal: &Journal, round: &mut Round) {
        for (id, before) in journal {
            if let Some(before) = before {
                self.unlink(*id, &before.links, round);
            }
            // Taken out for a moment: linking does not look at policies.
            if let Some(links) = self.policies.take_links(*id) {
                self.link(*id, &links, round);
                self.policies.put_links(*id, links);
            }
        }
    }

    fn link(&mut self, policy: PolicyId, links: &Links, round: &mut Round) {
        let applied_to = &mut self.groups.get_mut(links.applied_to).applied;
        applied_to.policies.insert(policy);
        round.applied_to.push(links.applied_to);
        for (group, place) in &links.uses {
            self.groups.get_mut(*group).address.uses.insert((policy, *place));
            round.addresses.push(*group);
            if self.groups.get_mut(links.applied_to).applied.add_link(*group) {
                self.reason_for_all(links.applied_to, *group, 1, round);
            }
        }
    }

    fn unlink(&mut self, policy: PolicyId, links: &Links, round: &mut Round) {
        let applied_to = &mut self.groups.get_mut(links.applied_to).applied;
        applied_to.policies.remove(&policy);
        round.applied_to.push(links.applied_to);
        for (group, place) in &links.uses {
            self.groups.get_mut(*group).address.uses.remove(&(policy, *place));
            round.addresses.push(*group);
            if self.groups.get_mut(links.applied_to).applied.remove_link(*group) {
                self.reason_for_all(links.applied_to, *group, -1, round);
            }
        }
    }

    /// An AddressGroup gets, or loses, the span that watchers know of an AppliedToGroup.
    fn reason_for_all(&self, applied_to: GroupId, address: GroupId, more: i32, round: &mut Round) {
        let Some(published) = &self.groups.get(applied_to).applied.published else { return };
        round.reasons.push(SpanReason { address, span: published.span.clone(), more });
    }
}
