//! Tells of AddressGroups.

use std::sync::Arc;

use antrea_policy::{AddressGroup, GroupMember, GroupUpdate, Pod, SpanChange, Update};

use super::members::{changes, members};
use super::{Round, in_order};
use crate::Index;
use crate::cluster::groups::Group;
use crate::cluster::roles::{Counted, SpanReason};
use crate::intern::pool::GroupId;

impl Index {
    pub(super) fn tell_address_groups(&mut self, round: &mut Round, publish: &mut dyn FnMut(Update)) {
        let mut reasons = std::mem::take(&mut round.reasons);
        reasons.sort_unstable_by_key(|reason| reason.address);
        let mut reasons = reasons.as_slice();
        for id in in_order(&mut round.addresses) {
            let own;
            (own, reasons) =
                reasons.split_at(reasons.iter().take_while(|reason| reason.address <= id).count());
            let role = &self.groups.get(id).address;
            let update = match (role.published.is_some(), !role.uses.is_empty()) {
                (false, true) => Some(self.begin_address(id, own, round)),
                (true, true) => self.change_address(id, own, round),
                (true, false) => Some(self.end_address(id)),
                (false, false) => None,
            };
            update.into_iter().for_each(|update| publish(Update::AddressGroup(update)));
        }
    }

    /// The group as it is.
    pub(crate) fn address_members(&self, group: &Group) -> Vec<GroupMember> {
        let mut all = Vec::new();
        self.each_class(group.scope, group.pods, |class| {
            let pods = &self.pods.class(class).pods;
            all.reserve(pods.len());
            let pods = pods.iter().filter_map(|pod| self.pods.get(*pod).member());
            all.extend(pods.filter(|pod| has_address(pod)).cloned().map(GroupMember::Pod));
        });
        self.counter.touched(all.len());
        all
    }

    fn begin_address(
        &mut self,
        id: GroupId,
        reasons: &[SpanReason],
        round: &mut Round,
    ) -> GroupUpdate<AddressGroup> {
        let listed = round.listed_of(id);
        let members = listed.unwrap_or_else(|| self.address_members(self.groups.get(id)));
        self.groups.get_mut(id).address.published = Some(Counted::default());
        self.groups.published += 1;
        let span = self.respan_address(id, reasons).after;
        let group = AddressGroup { name: self.groups.get(id).name, members };
        GroupUpdate::Added { group, span }
    }

    fn change_address(
        &mut self,
        id: GroupId,
        reasons: &[SpanReason],
        round: &Round,
    ) -> Option<GroupUpdate<AddressGroup>> {
        let deltas = round.deltas.get(&id).map(Vec::as_slice).unwrap_or_default();
        let (added, removed) = changes(deltas, has_address, Pod::has_same_address);
        let span = self.respan_address(id, reasons);
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

    fn respan_address(&mut self, id: GroupId, reasons: &[SpanReason]) -> SpanChange {
        let Some(counted) = &mut self.groups.get_mut(id).address.published else {
            return SpanChange::default();
        };
        let before = counted.change_by(reasons, &self.counter);
        let after = counted.span.clone();
        SpanChange { before: before.unwrap_or_else(|| after.clone()), after }
    }
}

/// An AddressGroup is of addresses: a Pod without one is nothing to it.
pub(super) fn has_address(pod: &Arc<Pod>) -> bool {
    !pod.ips.is_empty()
}
