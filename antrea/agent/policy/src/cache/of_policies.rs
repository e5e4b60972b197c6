//! Policies, and the rules that they consist of.

use std::collections::{BTreeMap, BTreeSet};

use antrea_shared_api::controlplane::v1beta2::NetworkPolicy;

use super::{Policy, RuleCache};
use crate::stream::Step;
use crate::{Rule, RuleId, Watch};

impl RuleCache {
    pub(super) fn step_policies(&mut self, step: Step<NetworkPolicy>) {
        match step {
            Step::Replace(policies) => {
                let names: BTreeSet<_> = policies.iter().map(|policy| policy.metadata.name.clone()).collect();
                let gone: Vec<_> =
                    self.policies.keys().filter(|name| !names.contains(*name)).cloned().collect();
                gone.iter().for_each(|name| self.remove_policy(name));
                policies.into_iter().for_each(|policy| self.set_policy(policy));
                self.complete(Watch::NetworkPolicies);
            }
            Step::Set(policy) | Step::Change(policy) => self.set_policy(policy),
            Step::Remove(policy) => self.remove_policy(&policy.metadata.name),
        }
    }

    pub(super) fn set_policy(&mut self, object: NetworkPolicy) {
        let name = object.metadata.name.clone();
        if self.policies.get(&name).is_some_and(|policy| policy.object == object) {
            self.let_policy_go(&name);
            return;
        }
        if self.holds_policy(&object) {
            return;
        }
        let rules: BTreeMap<_, _> = Rule::of(&object).map(|rule| (RuleId::of(&rule), rule)).collect();
        let ids: BTreeSet<_> = rules.keys().cloned().collect();
        self.unsaved(Watch::NetworkPolicies, &object.metadata.uid, &name);
        let old = self.policies.insert(name.clone(), Policy { object, rules: ids.clone() });
        if let Some(old) = old {
            self.unsaved(Watch::NetworkPolicies, &old.object.metadata.uid, &name);
            old.rules.difference(&ids).for_each(|id| self.remove_rule(id));
        }
        for (id, rule) in rules {
            if !self.rules.contains_key(&id) {
                self.add_rule(id, rule);
            }
        }
        self.let_groups_go();
    }

    fn remove_policy(&mut self, name: &str) {
        self.let_policy_go(name);
        let Some(policy) = self.policies.remove(name) else { return };
        self.unsaved(Watch::NetworkPolicies, &policy.object.metadata.uid, name);
        policy.rules.iter().for_each(|id| self.remove_rule(id));
        self.let_groups_go();
    }

    fn add_rule(&mut self, id: RuleId, rule: Rule) {
        self.address_groups.refer(&id, rule.address_groups());
        self.applied_to_groups.refer(&id, rule.applied_to_groups());
        self.changed.insert(id.clone());
        self.rules.insert(id, rule);
    }

    fn remove_rule(&mut self, id: &RuleId) {
        let Some(rule) = self.rules.remove(id) else { return };
        self.address_groups.forget(id, rule.address_groups());
        self.applied_to_groups.forget(id, rule.applied_to_groups());
        self.changed.insert(id.clone());
    }
}
