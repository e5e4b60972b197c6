//! Tells of AppliedToGroups.

use std::sync::Arc;

use antrea_policy::{AppliedToGroup, GroupUpdate, Pod, SpanChange, Update};

use super::members::{changes, members};
use super::{Round, in_order};
use crate::Index;
use crate::cluster::groups::Group;
use crate::cluster::roles::{Counted, Reason};
use crate::intern::pool::GroupId;

type Publish<'a> = &'a mut dyn FnMut(Update);

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
    pub(crate) fn applied_to_members(&self, group: &Group) -> Vec<Arc<Pod>> {
        let mut pods = self.pods_of(group);
        pods.retain(is_placed);
        pods.sort_by(|one, other| match (&one.node, &other.node) {
            (Some(one), Some(other)) if one.address() == other.address() => std::cmp::Ordering::Equal,
            (one, other) => one.cmp(other),
        });
        pods
    }

    fn begin_applied_to(&mut self, id: GroupId, round: &mut Round) -> GroupUpdate<AppliedToGroup> {
        let pods = self.applied_to_members(self.groups.get(id));
        self.groups.get_mut(id).applied.published = Some(Counted::default());
        self.groups.published += 1;
        let span = self.respan(id, reasons(&pods, 1), round);
        let group = AppliedToGroup { name: self.groups.get(id).name, members: members(pods) };
        GroupUpdate::Added { group, span: span.after }
    }

    fn change_applied_to(&mut self, id: GroupId, round: &mut Round) -> Option<GroupUpdate<AppliedToGroup>> {
        let deltas = round.deltas.get(&id)?;
        let (added, removed) = changes(deltas, is_placed, Pod::has_same_place);
        if added.is_empty() && removed.is_empty() {
            return None;
        }
        let reasons = [reasons(&added, 1), reasons(&removed, -1)].concat();
        let span = self.respan(id, reasons, round);
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
    fn respan(&mut self, id: GroupId, reasons: Vec<Reason>, round: &mut Round) -> SpanChange {
        let role = &mut self.groups.get_mut(id).applied;
        let Some(counted) = &mut role.published else {
            return SpanChange::default();
        };
        let before = counted.change(reasons);
        let after = counted.span.clone();
        let Some(before) = before else { return SpanChange { before: after.clone(), after } };
        let change = SpanChange { before, after };
        for (address, _) in &role.links {
            let reasons = round.reasons.entry(*address).or_default();
            reasons.extend(change.entered().map(|node| (node.clone(), 1)));
            reasons.extend(change.left().map(|node| (node.clone(), -1)));
        }
        round.addresses.extend(role.links.iter().map(|(address, _)| *address));
        round.respanned.extend(&role.policies);
        round.spans_before.insert(id, change.before.clone());
        change
    }
}

/// An AppliedToGroup is for Nodes: a Pod without one is nothing to it.
fn is_placed(pod: &Arc<Pod>) -> bool {
    pod.node.is_some()
}

fn reasons(pods: &[Arc<Pod>], more: i32) -> Vec<Reason> {
    let mut reasons = Vec::with_capacity(pods.len());
    reasons.extend(pods.iter().filter_map(|pod| Some((pod.node.clone()?, more))));
    reasons
}
