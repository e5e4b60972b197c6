//! Tells of AddressGroups.

use std::sync::Arc;

use antrea_policy::{AddressGroup, GroupUpdate, Pod, SpanChange, Update};

use super::members::{changes, members};
use super::{Round, in_order};
use crate::Index;
use crate::cluster::groups::Group;
use crate::cluster::roles::Counted;
use crate::intern::pool::GroupId;

impl Index {
    pub(super) fn tell_address_groups(&mut self, round: &mut Round, publish: &mut dyn FnMut(Update)) {
        for id in in_order(&mut round.addresses) {
            let role = &self.groups.get(id).address;
            let update = match (role.published.is_some(), !role.uses.is_empty()) {
                (false, true) => Some(self.begin_address(id, round)),
                (true, true) => self.change_address(id, round),
                (true, false) => Some(self.end_address(id)),
                (false, false) => None,
            };
            update.into_iter().for_each(|update| publish(Update::AddressGroup(update)));
        }
    }

    pub(crate) fn address_members(&self, group: &Group) -> Vec<Arc<Pod>> {
        let mut pods = self.pods_of(group);
        pods.retain(has_address);
        pods
    }

    fn begin_address(&mut self, id: GroupId, round: &mut Round) -> GroupUpdate<AddressGroup> {
        let pods = self.address_members(self.groups.get(id));
        self.groups.get_mut(id).address.published = Some(Counted::default());
        self.groups.published += 1;
        let span = self.respan_address(id, round).after;
        let group = AddressGroup { name: self.groups.get(id).name, members: members(pods) };
        GroupUpdate::Added { group, span }
    }

    fn change_address(&mut self, id: GroupId, round: &mut Round) -> Option<GroupUpdate<AddressGroup>> {
        let deltas = round.deltas.get(&id).map(Vec::as_slice).unwrap_or_default();
        let (added, removed) = changes(deltas, has_address, Pod::has_same_address);
        let span = self.respan_address(id, round);
        if added.is_empty() && removed.is_empty() && span.is_none() {
            return None;
        }
        let name = self.groups.get(id).name;
        Some(GroupUpdate::Modified { name, added: members(added), removed: members(removed), span })
    }

    fn end_address(&mut self, id: GroupId) -> GroupUpdate<AddressGroup> {
        let group = self.groups.get_mut(id);
        let span = group.address.published.take().unwrap_or_default().span;
        self.groups.published -= 1;
        GroupUpdate::Removed { name: self.groups.get(id).name, span }
    }

    fn respan_address(&mut self, id: GroupId, round: &mut Round) -> SpanChange {
        let reasons = round.reasons.remove(&id).unwrap_or_default();
        let Some(counted) = &mut self.groups.get_mut(id).address.published else {
            return SpanChange::default();
        };
        let before = counted.change(reasons);
        let after = counted.span.clone();
        SpanChange { before: before.unwrap_or_else(|| after.clone()), after }
    }
}

/// An AddressGroup is of addresses: a Pod without one is nothing to it.
fn has_address(pod: &Arc<Pod>) -> bool {
    !pod.ips.is_empty()
}
