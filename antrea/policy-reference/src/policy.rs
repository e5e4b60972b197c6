//! A NetworkPolicy: whom it is about, in which direction, and by which rules.

use std::fmt;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};

use crate::selector::{BadSelector, selects};

/// From the view of the Pod that a policy selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    Egress,
    Ingress,
}

/// What a policy does to a Pod in a direction.
#[derive(Debug)]
pub(crate) enum Effect<'a> {
    None,
    /// The Pod is isolated, and these rules admit something.
    Isolates(Vec<Rule<'a>>),
}

/// A rule of either direction. An empty list is no restriction, as one that is missing.
#[derive(Debug)]
pub(crate) struct Rule<'a> {
    pub(crate) peers: &'a [NetworkPolicyPeer],
    pub(crate) ports: &'a [NetworkPolicyPort],
}

/// What the policy does to a Pod that has a network of its own.
pub(crate) fn effect<'a>(policy: &'a NetworkPolicy, pod: &Pod, direction: Direction) -> Effect<'a> {
    if policy.metadata.namespace != pod.metadata.namespace {
        return Effect::None;
    }
    // Nothing is required in a spec: one without fields selects all Pods and has no rules.
    let Some(spec) = &policy.spec else { return isolates_without_rules(direction) };
    let concern = concern(spec, direction);
    let selected = spec.pod_selector.as_ref().map(|selector| selects(selector, pod.metadata.labels.as_ref()));
    match (concern, selected) {
        (Concern::None, _) | (_, Some(Ok(false))) => Effect::None,
        (Concern::Unclear, _) | (_, Some(Err(BadSelector))) => Effect::Isolates(Vec::new()),
        (Concern::Named, None | Some(Ok(true))) => Effect::Isolates(rules(spec, direction)),
    }
}

fn isolates_without_rules(direction: Direction) -> Effect<'static> {
    match direction {
        Direction::Ingress => Effect::Isolates(Vec::new()),
        Direction::Egress => Effect::None,
    }
}

/// What `policyTypes` says about a direction.
enum Concern {
    None,
    Named,
    /// There is a type that is not known.
    Unclear,
}

fn concern(spec: &NetworkPolicySpec, direction: Direction) -> Concern {
    let types = spec.policy_types.as_deref().unwrap_or_default();
    let named = match direction {
        Direction::Ingress => types.is_empty() || types.iter().any(|one| one == "Ingress"),
        Direction::Egress if types.is_empty() => spec.egress.as_ref().is_some_and(|rules| !rules.is_empty()),
        Direction::Egress => types.iter().any(|one| one == "Egress"),
    };
    if named {
        Concern::Named
    } else if types.iter().all(|one| one == "Ingress" || one == "Egress") {
        Concern::None
    } else {
        Concern::Unclear
    }
}

fn rules(spec: &NetworkPolicySpec, direction: Direction) -> Vec<Rule<'_>> {
    match direction {
        Direction::Ingress => {
            let rules = spec.ingress.iter().flatten();
            rules
                .map(|rule| Rule { peers: list(rule.from.as_ref()), ports: list(rule.ports.as_ref()) })
                .collect()
        }
        Direction::Egress => {
            let rules = spec.egress.iter().flatten();
            rules
                .map(|rule| Rule { peers: list(rule.to.as_ref()), ports: list(rule.ports.as_ref()) })
                .collect()
        }
    }
}

fn list<T>(field: Option<&Vec<T>>) -> &[T] {
    field.map(Vec::as_slice).unwrap_or_default()
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Egress => "egress",
            Self::Ingress => "ingress",
        })
    }
}
