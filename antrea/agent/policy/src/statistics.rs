//! What policies have let through on this Node: from what flows count to what the controller is told.
//!
//! The controller adds up what it is told, so that it is told differences: what flows counted since they were looked at
//! last. That is kept until the controller has taken it, so that nothing is lost while it is away.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use antrea_pipeline::policy::{ConjunctionId, Counter, Packets};
use antrea_shared_api::controlplane::v1beta2::{
    NetworkPolicyReference, NetworkPolicyStats, NetworkPolicyType, NodeStatsSummary,
};
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::stats::v1alpha1::{RuleTrafficStats, TrafficStats};
use antrea_types::NodeName;

use crate::{Reconciler, RuleCache, RuleName};

/// What a flow has counted since it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// How long it has been there.
    pub age: Duration,
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What came, by number.
pub type Traffic = BTreeMap<ConjunctionId, TrafficStats>;

/// What the controller has not been told yet of what flows have counted.
#[derive(Debug, Default)]
pub struct Statistics {
    /// What there was when it was looked at last.
    seen: BTreeMap<Counter, Counted>,
    /// By the names of policies, which are the UIDs of what they were computed from.
    untold: BTreeMap<String, Untold>,
}

#[derive(Debug)]
struct Untold {
    source: NetworkPolicyReference,
    /// By the names of rules; policies of Kubernetes have none for theirs.
    rules: BTreeMap<String, TrafficStats>,
}

impl Counted {
    /// What was counted since `before`. A flow that is younger than it was, or has counted less, was made anew.
    fn since(self, before: Option<&Self>) -> (u64, u64) {
        let before = before.filter(|before| {
            before.age <= self.age && before.packets <= self.packets && before.bytes <= self.bytes
        });
        before.map_or((self.packets, self.bytes), |before| {
            (self.packets - before.packets, self.bytes - before.bytes)
        })
    }
}

impl Statistics {
    /// Takes in what all flows have counted; returns what came since the last time.
    pub fn since_last(&mut self, counted: BTreeMap<Counter, Counted>) -> Traffic {
        let before = std::mem::replace(&mut self.seen, counted);
        let mut sums = Traffic::new();
        for (counter, counted) in &self.seen {
            let (packets, bytes) = counted.since(before.get(counter));
            if packets == 0 {
                continue;
            }
            let sessions = match counter.packets {
                Packets::First => packets,
                Packets::Later => 0,
            };
            sums.entry(counter.rule).or_default().add(TrafficStats { packets, bytes, sessions });
        }
        sums
    }

    /// Takes in whose that is. Where policies say the same, and so share a number, what they let through counts for each of
    /// them; for a policy once, if that has several such rules. What policies let through that are gone is nobody's.
    pub fn attribute(&mut self, traffic: Traffic, reconciler: &Reconciler, cache: &RuleCache) {
        for (number, traffic) in traffic {
            self.add(traffic, &reconciler.rules_of(number));
        }
        self.untold.retain(|policy, _| cache.has_policy(policy));
    }

    fn add(&mut self, traffic: TrafficStats, rules: &[&RuleName]) {
        let mut of = BTreeSet::new();
        for rule in rules {
            let Some(source) = rule.source_ref.as_ref().filter(|source| is_counted(source)) else { continue };
            if of.insert((&rule.policy, &rule.name)) {
                let untold = self
                    .untold
                    .entry(rule.policy.clone())
                    .or_insert_with(|| Untold { source: source.clone(), rules: BTreeMap::new() });
                untold.rules.entry(rule.name.clone()).or_default().add(traffic);
            }
        }
    }

    /// What the controller is to be told; none where there is nothing new.
    pub fn summary(&self, node: &NodeName) -> Option<NodeStatsSummary> {
        if self.untold.is_empty() {
            return None;
        }
        let metadata = Metadata { name: node.to_string(), ..Metadata::default() };
        let mut summary = NodeStatsSummary { metadata, ..NodeStatsSummary::default() };
        for untold in self.untold.values() {
            let policies = match untold.source.policy_type {
                NetworkPolicyType::K8sNetworkPolicy => &mut summary.network_policies,
                NetworkPolicyType::AntreaClusterNetworkPolicy => &mut summary.antrea_cluster_network_policies,
                NetworkPolicyType::AntreaNetworkPolicy => &mut summary.antrea_network_policies,
                _ => continue,
            };
            policies.push(untold.stats());
        }
        Some(summary)
    }

    /// The controller has taken the summary.
    pub fn told(&mut self) {
        self.untold.clear();
    }
}

/// The controller takes statistics of no other types.
const fn is_counted(source: &NetworkPolicyReference) -> bool {
    matches!(
        source.policy_type,
        NetworkPolicyType::K8sNetworkPolicy
            | NetworkPolicyType::AntreaClusterNetworkPolicy
            | NetworkPolicyType::AntreaNetworkPolicy
    )
}

impl Untold {
    /// Of policies of Antrea each rule by itself, as upstream's agents tell it: the controller adds them up.
    fn stats(&self) -> NetworkPolicyStats {
        let (network_policy, rules) = ((&self.source).into(), self.rules.iter());
        if self.source.policy_type == NetworkPolicyType::K8sNetworkPolicy {
            let mut traffic_stats = TrafficStats::default();
            rules.for_each(|(_, traffic)| traffic_stats.add(*traffic));
            return NetworkPolicyStats { network_policy, traffic_stats, rule_traffic_stats: Vec::new() };
        }
        let of_rule = |(name, traffic): (&String, &TrafficStats)| RuleTrafficStats {
            name: name.clone(),
            traffic_stats: *traffic,
        };
        let rule_traffic_stats = rules.map(of_rule).collect();
        NetworkPolicyStats { network_policy, traffic_stats: TrafficStats::default(), rule_traffic_stats }
    }
}
