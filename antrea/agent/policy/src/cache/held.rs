//! What is put off where the controller has no rounds, so that watches are independent of each other: a policy that is
//! applied to other Pods now may come before the group of these, and the group of the former Pods may go before the policy
//! comes. In between, Pods that are in both would be isolated by nothing. So they stay isolated as they were until policy
//! and group fit together again.
//!
//! A policy is sent only to Nodes with Pods that it is applied to, so that there will be a group, or no policy.

use std::collections::{BTreeMap, BTreeSet};

use antrea_shared_api::controlplane::v1beta2::NetworkPolicy;

use super::RuleCache;
use crate::Rule;
use crate::groups::Kind;

/// What is put off.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// AppliedToGroups that are gone, and are all that a rule is applied to.
    groups: BTreeSet<String>,
    /// What policies are to be once a group of theirs comes.
    policies: BTreeMap<String, NetworkPolicy>,
}

impl RuleCache {
    /// Whether a change of a policy has to wait. Any earlier one that waits is done with.
    pub(super) fn holds_policy(&mut self, object: &NetworkPolicy) -> bool {
        let name = &object.metadata.name;
        self.held.policies.remove(name);
        let groups: BTreeSet<_> = Rule::of(object).flat_map(|rule| rule.content.applied_to_groups).collect();
        let waits = self.policies.contains_key(name)
            && !groups.is_empty()
            && !groups.iter().any(|group| self.has_target(group));
        if waits {
            self.held.policies.insert(name.clone(), object.clone());
        }
        waits
    }

    /// A policy is gone, whatever it was to be.
    pub(super) fn let_policy_go(&mut self, name: &str) {
        self.held.policies.remove(name);
    }

    /// Whether an AppliedToGroup that is gone has to stay: some rule has no other.
    pub(super) fn holds_group(&mut self, kind: Kind, name: &str) -> bool {
        if kind == Kind::Address {
            return false;
        }
        let alone = |rule: &Rule| {
            !rule.applied_to_groups().iter().any(|other| other != name && self.has_target(other))
        };
        let holds = self.applied_to_groups.rules_of(name).filter_map(|id| self.rules.get(id)).any(alone);
        if holds {
            self.held.groups.insert(name.to_owned());
        }
        holds
    }

    /// An AppliedToGroup is there: policies that waited for it are what they are to be.
    pub(super) fn group_came(&mut self, kind: Kind, name: &str) {
        if kind == Kind::Address {
            return;
        }
        self.held.groups.remove(name);
        let refers = |policy: &NetworkPolicy| {
            Rule::of(policy).any(|rule| rule.applied_to_groups().iter().any(|group| group == name))
        };
        let ready = self.held.policies.values().filter(|policy| refers(policy)).cloned();
        ready.collect::<Vec<_>>().into_iter().for_each(|policy| self.set_policy(policy));
        self.let_groups_go();
    }

    /// AppliedToGroups go that no rule needs any more.
    pub(super) fn let_groups_go(&mut self) {
        for name in self.held.groups.clone() {
            self.held.groups.remove(&name);
            self.remove_group(Kind::AppliedTo, &name);
        }
    }

    /// Whether an AppliedToGroup is there, and not only put off.
    fn has_target(&self, group: &str) -> bool {
        self.applied_to_groups.get(group).is_some() && !self.held.groups.contains(group)
    }
}
