//! What changed since the last time, as updates.
//!
//! 1. Policies: rules and AppliedToGroups are unlinked and linked as policies came, went and changed.
//! 2. Members: what became of each Pod and Namespace, for the groups that watchers know.
//! 3. AppliedToGroups are told; what their spans gain or lose goes on to the AddressGroups linked with them.
//! 4. AddressGroups are told, then policies: those that changed, and those whose span did.
//! 5. Nodes are told which Pods of theirs all this takes into account.

mod address;
mod applied_to;
mod links;
mod members;
mod pods;
mod policies;

use std::collections::VecDeque;

use antrea_policy::{GroupMember, Span, Update};
use hashbrown::HashMap;

use crate::Index;
use crate::cluster::roles::SpanReason;
use crate::intern::pool::{GroupId, PolicyId};
use members::Delta;

/// What one settle gathers on its way.
#[derive(Debug, Default)]
struct Round {
    /// Groups whose use as AppliedToGroup began, ended, or may have other members.
    applied_to: Vec<GroupId>,
    /// The same as AddressGroup.
    addresses: Vec<GroupId>,
    /// What became of members of groups that watchers know.
    deltas: HashMap<GroupId, Vec<Delta>>,
    /// Members of AddressGroups that are new, in the order of these: of groups that are AppliedToGroups as well.
    listed: VecDeque<(GroupId, Vec<GroupMember>)>,
    /// Why spans of AddressGroups change: they gain the span of an AppliedToGroup, or lose it.
    reasons: Vec<SpanReason>,
    /// The spans that AppliedToGroups had, of those that have another now, or none.
    spans_before: HashMap<GroupId, Span>,
    /// Policies that have such a group.
    respanned: Vec<PolicyId>,
}

impl Round {
    /// The members of an AddressGroup, if they are known already. Groups are asked for in order.
    fn listed_of(&mut self, id: GroupId) -> Option<Vec<GroupMember>> {
        while self.listed.front()?.0 < id {
            self.listed.pop_front();
        }
        let (first, members) = self.listed.pop_front()?;
        if first == id {
            return Some(members);
        }
        self.listed.push_front((first, members));
        None
    }
}

impl Index {
    /// Tells of every change since the last time, each object at most once.
    pub fn settle(&mut self, mut publish: impl FnMut(Update)) {
        let policies = std::mem::take(&mut self.policies.journal);
        let pods = std::mem::take(&mut self.pods.journal);
        let mut round = Round::default();
        self.relink(&policies, &mut round);
        if self.groups.published > 0 {
            self.follow_pods(&pods, &mut round);
            self.follow_namespaces(&mut round);
        }
        self.tell_applied_to_groups(&mut round, &mut publish);
        self.tell_address_groups(&mut round, &mut publish);
        self.tell_policies(&policies, &mut round, &mut publish);
        self.tell_pods(&pods, &mut publish);
        let namespaces = std::mem::take(&mut self.namespaces.journal);
        self.forget_policy_journal(policies);
        self.forget_pod_journal(pods);
        self.forget_namespace_journal(namespaces);
    }
}

/// The groups of a step, each once, in the order of their numbers.
fn in_order(groups: &mut Vec<GroupId>) -> Vec<GroupId> {
    groups.sort_unstable();
    groups.dedup();
    std::mem::take(groups)
}
