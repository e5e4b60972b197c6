//! Tells of AppliedToGroups.

use std::sync::Arc;

use antrea_policy::{AppliedToGroup, GroupMember, GroupUpdate, Pod, Span, SpanChange, Text, Update};

use super::address::has_address;
use super::members::{changes, members};
use super::{Round, in_order};
use crate::Index;
use crate::cluster::groups::Group;
use crate::cluster::nodes::Rank;
use crate::cluster::roles::{Counted, Reason, SpanReason};
use crate::intern::pool::{GroupId, PodId};

type Publish<'a> = &'a mut dyn FnMut(Update);

/// A Pod of a group, and its place in the order of Nodes.
type Listed = (Option<Rank>, PodId);

impl Index {
    pub(super) fn tell_applied_to_groups(&mut self, round: &mut Round, publish: Publish<'_>) {
        for id in in_order(&mut round.applied_to) {
            let role = &self.groups.get(id).applied;
            let update = match (role.published.is_some(), !role.policies.is_empty()) {
                (false, true) => Some(self.begin_applied_to(id, round)),
                (true, true) => self.change_applied_to(id, round),
                (true, false) => Some(self.end_applied_to(id, round)),
                (false, false) => None,
            };
            update.into_iter().for_each(|update| publish(Update::AppliedToGroup(update)));
        }
    }

    /// The group as it is, sorted by Node.
    pub(crate) fn applied_to_members(&self, group: &Group) -> Vec<GroupMember> {
        self.members_of(placed(&self.pods_by_node(group)), |_| true)
    }

    /// The Pods of a group, sorted by Node: first those without.
    fn pods_by_node(&self, group: &Group) -> Vec<Listed> {
        let mut listing = Vec::new();
        self.each_class(group.scope, group.pods, |class| {
            let pods = self.pods.class(class).pods.iter();
            listing.extend(pods.map(|pod| {
                let node = self.pods.get(*pod).node;
                (node.map(|node| self.pods.nodes.rank(node)), *pod)
            }));
        });
        self.counter.touched(listing.len());
        listing.sort_unstable();
        listing
    }

    fn members_of(&self, listing: &[Listed], of: impl Fn(&Arc<Pod>) -> bool) -> Vec<GroupMember> {
        let mut members = Vec::with_capacity(listing.len());
        let pods = listing.iter().filter_map(|(_, pod)| self.pods.get(*pod).member());
        members.extend(pods.filter(|pod| of(pod)).cloned().map(GroupMember::Pod));
        members
    }

    fn counted(&self, listing: &[Listed]) -> Counted {
        let by_node = listing.chunk_by(|(one, _), (other, _)| one == other);
        let counts = by_node.filter_map(|pods| {
            let (node, _) = pods.first()?;
            Some((self.pods.nodes.at((*node)?).clone(), u32::try_from(pods.len()).ok()?))
        });
        let (nodes, counts) = counts.unzip();
        Counted::new(nodes, counts)
    }

    fn begin_applied_to(&mut self, id: GroupId, round: &mut Round) -> GroupUpdate<AppliedToGroup> {
        let listing = self.pods_by_node(self.groups.get(id));
        let group = self.groups.get(id);
        if group.address.is_new() {
            round.listed.push_back((id, self.members_of(&listing, has_address)));
        }
        let members = self.members_of(placed(&listing), |_| true);
        let group = AppliedToGroup { name: group.name, members };
        let counted = self.counted(&listing);
        let span = counted.span.clone();
        let role = &mut self.groups.get_mut(id).applied;
        role.published = Some(counted);
        // All its policies are new to it: they and the groups that they name are told anyway.
        let reason = |address| SpanReason { address, span: span.clone(), more: 1 };
        round.reasons.extend(role.links.iter().map(|(address, _)| reason(*address)));
        self.groups.published += 1;
        GroupUpdate::Added { group, span }
    }

    fn change_applied_to(&mut self, id: GroupId, round: &mut Round) -> Option<GroupUpdate<AppliedToGroup>> {
        let deltas = round.deltas.get(&id)?;
        let (added, removed) = changes(deltas, is_placed, Pod::has_same_place);
        if added.is_empty() && removed.is_empty() {
            return None;
        }
        let gained = added.iter().filter_map(|pod| Some((pod.node.as_ref()?, 1)));
        let lost = removed.iter().filter_map(|pod| Some((pod.node.as_ref()?, -1)));
        let span = self.respan(id, gained.chain(lost).collect(), round);
        let name = self.groups.get(id).name;
        Some(GroupUpdate::Modified { name, added: members(added), removed: members(removed), span })
    }

    fn end_applied_to(&mut self, id: GroupId, round: &mut Round) -> GroupUpdate<AppliedToGroup> {
        let group = self.groups.get_mut(id);
        let span = group.applied.published.take().unwrap_or_default().span;
        round.spans_before.insert(id, span.clone());
        self.groups.published -= 1;
        GroupUpdate::Removed { name: self.groups.get(id).name, span }
    }

    /// Changes the span, and notes for whom else that is news.
    fn respan(&mut self, id: GroupId, reasons: Vec<Reason<'_>>, round: &mut Round) -> SpanChange {
        let role = &mut self.groups.get_mut(id).applied;
        let Some(counted) = &mut role.published else {
            return SpanChange::default();
        };
        let before = counted.change(reasons, &self.counter);
        let after = counted.span.clone();
        let Some(before) = before else { return SpanChange { before: after.clone(), after } };
        let change = SpanChange { before, after };
        let only = |nodes: &mut dyn Iterator<Item = &Text>| Span::from_sorted(nodes.cloned().collect());
        let (entered, left) = (only(&mut change.entered()), only(&mut change.left()));
        for (address, _) in role.links.iter() {
            let reason = |span: &Span, more| SpanReason { address: *address, span: span.clone(), more };
            round.reasons.extend([reason(&entered, 1), reason(&left, -1)]);
        }
        round.addresses.extend(role.links.iter().map(|(address, _)| *address));
        round.respanned.extend(role.policies.iter());
        round.spans_before.insert(id, change.before.clone());
        change
    }
}

/// Those that are on a Node.
fn placed(listing: &[Listed]) -> &[Listed] {
    let first = listing.partition_point(|(node, _)| node.is_none());
    listing.get(first..).unwrap_or_default()
}

/// An AppliedToGroup is for Nodes: a Pod without one is nothing to it.
fn is_placed(pod: &Arc<Pod>) -> bool {
    pod.node.is_some()
}
