//! Which policies and rules use which groups.

use super::Round;
use crate::Index;
use crate::cluster::policies::{Links, State};
use crate::cluster::roles::Reason;
use crate::intern::pool::{GroupId, PolicyId, insert_sorted, remove_sorted};

impl Index {
    /// Takes away what policies had, and puts in what they have.
    pub(super) fn relink(&mut self, journal: &[(PolicyId, Option<State>)], round: &mut Round) {
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
        insert_sorted(&mut applied_to.policies, policy);
        round.applied_to.push(links.applied_to);
        for (group, place) in &links.uses {
            insert_sorted(&mut self.groups.get_mut(*group).address.uses, (policy, *place));
            round.addresses.push(*group);
            let all = &mut self.groups.get_mut(links.applied_to).applied.links;
            match all.binary_search_by_key(group, |(group, _)| *group) {
                Ok(at) => all[at].1 += 1,
                Err(at) => {
                    all.insert(at, (*group, 1));
                    self.reason_for_all(links.applied_to, *group, 1, round);
                }
            }
        }
    }

    fn unlink(&mut self, policy: PolicyId, links: &Links, round: &mut Round) {
        let applied_to = &mut self.groups.get_mut(links.applied_to).applied;
        remove_sorted(&mut applied_to.policies, &policy);
        round.applied_to.push(links.applied_to);
        for (group, place) in &links.uses {
            remove_sorted(&mut self.groups.get_mut(*group).address.uses, &(policy, *place));
            round.addresses.push(*group);
            let all = &mut self.groups.get_mut(links.applied_to).applied.links;
            let Ok(at) = all.binary_search_by_key(group, |(group, _)| *group) else { continue };
            all[at].1 -= 1;
            if all[at].1 == 0 {
                all.remove(at);
                self.reason_for_all(links.applied_to, *group, -1, round);
            }
        }
    }

    /// An AddressGroup gets, or loses, the span that watchers know of an AppliedToGroup.
    fn reason_for_all(&self, applied_to: GroupId, address: GroupId, more: i32, round: &mut Round) {
        let Some(published) = &self.groups.get(applied_to).applied.published else { return };
        let reasons = published.span.nodes().iter().map(|node| -> Reason { (node.clone(), more) });
        round.reasons.entry(address).or_default().extend(reasons);
    }
}
