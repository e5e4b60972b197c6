//! What was drawn: features of policies and verdicts, counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::cluster::Cluster;
use crate::policy::Direction;
use crate::verdict::{Side, Verdict};

/// What a policy may have that is worth testing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    Except,
    NamedPort,
    EndPort,
    MatchExpressions,
    /// A selector with nothing in it, of the policy or of a peer.
    EmptySelector,
    /// A rule without peers, which means everybody.
    EmptyPeers,
    /// A peer without fields, which means nobody; API servers refuse it.
    EmptyPeer,
    /// Blocks of IPv4 and of IPv6.
    BothFamilies,
    NamespaceSelector,
    Sctp,
    /// Nothing is admitted in a direction.
    NoRules,
    DefaultedTypes,
}

/// Counts over any number of clusters. Prints as a table.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    clusters: usize,
    policies: usize,
    features: BTreeMap<Feature, usize>,
    allowed: usize,
    exempt: usize,
    denied: BTreeMap<Direction, usize>,
}

impl Coverage {
    pub fn count_policies(&mut self, cluster: &Cluster) {
        self.clusters += 1;
        for policy in &cluster.policies {
            self.policies += 1;
            for feature in features(policy) {
                *self.features.entry(feature).or_default() += 1;
            }
        }
    }

    pub fn count_verdict(&mut self, verdict: &Verdict) {
        match verdict.denied_by() {
            Some(direction) => *self.denied.entry(direction).or_default() += 1,
            None => self.allowed += 1,
        }
        let exempt = |side: &Side| matches!(side, Side::Exempt(_));
        self.exempt += usize::from(exempt(&verdict.egress) || exempt(&verdict.ingress));
    }

    /// In how many of a hundred policies a feature occurs.
    pub fn percent_with(&self, feature: Feature) -> usize {
        percent(self.features.get(&feature).copied().unwrap_or(0), self.policies)
    }

    /// How many of a hundred verdicts are "allowed".
    pub fn percent_allowed(&self) -> usize {
        percent(self.allowed, self.verdicts())
    }

    pub fn verdicts(&self) -> usize {
        self.allowed + self.denied.values().sum::<usize>()
    }
}

fn percent(part: usize, whole: usize) -> usize {
    (part * 100).checked_div(whole).unwrap_or(0)
}

fn features(policy: &NetworkPolicy) -> BTreeSet<Feature> {
    let mut features = BTreeSet::new();
    let Some(spec) = &policy.spec else { return features };
    features.extend(spec.pod_selector.iter().flat_map(features_of_selector));
    if spec.policy_types.is_none() {
        features.insert(Feature::DefaultedTypes);
    }
    let ingress = spec.ingress.iter().flatten().map(|rule| (rule.from.as_deref(), rule.ports.as_deref()));
    let egress = spec.egress.iter().flatten().map(|rule| (rule.to.as_deref(), rule.ports.as_deref()));
    let rules: Vec<_> = ingress.chain(egress).collect();
    if rules.is_empty() {
        features.insert(Feature::NoRules);
    }
    let all_peers: Vec<_> = rules.iter().flat_map(|(peers, _)| peers.unwrap_or_default()).collect();
    if rules.iter().any(|(peers, _)| peers.unwrap_or_default().is_empty()) {
        features.insert(Feature::EmptyPeers);
    }
    if [true, false].iter().all(|v6| all_peers.iter().any(|peer| has_block(peer, *v6))) {
        features.insert(Feature::BothFamilies);
    }
    features.extend(all_peers.into_iter().flat_map(features_of_peer));
    features.extend(rules.iter().flat_map(|(_, ports)| ports.unwrap_or_default()).flat_map(features_of_port));
    features
}

fn has_block(peer: &NetworkPolicyPeer, v6: bool) -> bool {
    peer.ip_block.as_ref().is_some_and(|block| block.cidr.contains(':') == v6)
}

fn features_of_peer(peer: &NetworkPolicyPeer) -> Vec<Feature> {
    let mut features = Vec::new();
    if *peer == NetworkPolicyPeer::default() {
        features.push(Feature::EmptyPeer);
    }
    if peer.ip_block.as_ref().is_some_and(|block| block.except.iter().flatten().next().is_some()) {
        features.push(Feature::Except);
    }
    if peer.namespace_selector.is_some() {
        features.push(Feature::NamespaceSelector);
    }
    features.extend(peer.namespace_selector.iter().chain(&peer.pod_selector).flat_map(features_of_selector));
    features
}

fn features_of_selector(selector: &LabelSelector) -> Vec<Feature> {
    match selector {
        LabelSelector { match_expressions: Some(_), .. } => vec![Feature::MatchExpressions],
        LabelSelector { match_expressions: None, match_labels: None } => vec![Feature::EmptySelector],
        LabelSelector { .. } => Vec::new(),
    }
}

fn features_of_port(port: &NetworkPolicyPort) -> Vec<Feature> {
    let mut features = Vec::new();
    if matches!(port.port, Some(IntOrString::String(_))) {
        features.push(Feature::NamedPort);
    }
    if port.end_port.is_some() {
        features.push(Feature::EndPort);
    }
    if port.protocol.as_deref() == Some("SCTP") {
        features.push(Feature::Sctp);
    }
    features
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} clusters, {} policies:", self.clusters, self.policies)?;
        for (feature, count) in &self.features {
            writeln!(
                f,
                "  {:<20} {count:>8} {:>3} %",
                format!("{feature:?}"),
                percent(*count, self.policies)
            )?;
        }
        let verdicts = self.verdicts();
        writeln!(f, "{verdicts} verdicts:")?;
        let denied = self.denied.iter().map(|(direction, count)| (format!("denied at {direction}"), *count));
        let rows = [("allowed".to_owned(), self.allowed), ("of them exempt".to_owned(), self.exempt)];
        for (name, count) in rows.into_iter().chain(denied) {
            writeln!(f, "  {name:<20} {count:>8} {:>3} %", percent(count, verdicts))?;
        }
        Ok(())
    }
}
