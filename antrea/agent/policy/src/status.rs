//! How far policies are realized on this Node, as the controller is told.

use std::collections::{BTreeMap, BTreeSet};

use antrea_shared_api::controlplane::v1beta2::{
    NetworkPolicy, NetworkPolicyNodeStatus, NetworkPolicyStatus, NetworkPolicyType,
};
use antrea_shared_api::meta::Metadata;
use antrea_types::NodeName;

use crate::{CompletedRule, Confirmed, Reconciler, RuleCache, RuleId};

/// How far a policy, in the generation that the controller sent last, is enforced; what is worse comes later.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Realization {
    /// All its rules that are about Pods of this Node are in the switch.
    Realized,
    /// Something is on its way: from the controller, or to the switch.
    Pending,
    /// It is not enforced as it says, and why.
    Failed(String),
}

/// A policy, and how far it is.
#[derive(Clone, Debug)]
pub struct PolicyStatus<'a> {
    /// The policy.
    pub policy: &'a NetworkPolicy,
    /// How far it is.
    pub realization: Realization,
}

impl Reconciler {
    /// The switch has all batches, those without changes among them.
    pub fn confirm(&mut self) {
        self.unconfirmed.clear();
        self.refusal = None;
        self.confirmed = Confirmed::All;
    }

    /// The switch did not take what is not confirmed, and why.
    pub fn refuse(&mut self, message: String) {
        self.refusal = Some(message);
    }

    /// All policies, by name.
    pub fn statuses<'a>(&self, cache: &'a RuleCache) -> impl Iterator<Item = PolicyStatus<'a>> {
        cache.policies().map(move |(policy, rules)| self.status(cache, policy, rules))
    }

    /// What the controller is told of policies that have a status.
    pub fn reports(&self, cache: &RuleCache, node: &NodeName) -> BTreeMap<String, NetworkPolicyStatus> {
        let reported = cache.policies().filter(|(policy, _)| has_status(policy));
        let reports = reported.filter_map(|(policy, rules)| self.status(cache, policy, rules).report(node));
        reports.map(|report| (report.metadata.name.clone(), report)).collect()
    }

    fn status<'a>(
        &self,
        cache: &'a RuleCache,
        policy: &'a NetworkPolicy,
        rules: &BTreeSet<RuleId>,
    ) -> PolicyStatus<'a> {
        let of_rules = rules.iter().filter_map(|id| Some(self.of_rule(id, &cache.completed(id)?)));
        let realization = of_rules.fold(self.of_switch(policy), Ord::max);
        PolicyStatus { policy, realization }
    }

    fn of_switch(&self, policy: &NetworkPolicy) -> Realization {
        match &self.refusal {
            _ if !self.unconfirmed.contains(&policy.metadata.name) => Realization::Realized,
            None => Realization::Pending,
            Some(message) => Realization::Failed(message.clone()),
        }
    }

    fn of_rule(&self, id: &RuleId, completed: &CompletedRule<'_>) -> Realization {
        let Some(planned) = self.planned(id) else { return Realization::Pending };
        let problems: Vec<_> = planned.problems.iter().map(ToString::to_string).collect();
        if !problems.is_empty() {
            let direction = completed.rule.content.direction;
            return Realization::Failed(format!("rule {direction}: {}", problems.join("; ")));
        }
        if completed.missing.is_empty() { Realization::Realized } else { Realization::Pending }
    }
}

/// Policies of Kubernetes have none.
fn has_status(policy: &NetworkPolicy) -> bool {
    let source = policy.source_ref.as_ref();
    source.is_some_and(|source| source.policy_type != NetworkPolicyType::K8sNetworkPolicy)
}

impl PolicyStatus<'_> {
    /// What the controller is told: nothing while it is pending.
    fn report(&self, node: &NodeName) -> Option<NetworkPolicyStatus> {
        let (realization_failure, message) = match &self.realization {
            Realization::Pending => return None,
            Realization::Realized => (false, String::new()),
            Realization::Failed(message) => (true, message.clone()),
        };
        let (node_name, generation) = (node.to_string(), self.policy.metadata.generation);
        Some(NetworkPolicyStatus {
            metadata: Metadata { name: self.policy.metadata.name.clone(), ..Metadata::default() },
            nodes: vec![NetworkPolicyNodeStatus { node_name, generation, realization_failure, message }],
        })
    }
}
