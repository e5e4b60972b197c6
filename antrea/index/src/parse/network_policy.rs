//! NetworkPolicies of networking.k8s.io/v1.

use antrea_policy::{Direction, Port};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};

use super::peer::{self, PeersSpec};
use super::port;
use super::selector::Selector;
use crate::Problem;

/// A NetworkPolicy.
#[derive(Debug)]
pub(crate) struct PolicySpec<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) generation: i64,
    /// The Pods that it isolates.
    pub(crate) pods: Selector<'a>,
    /// The directions in which it does.
    pub(crate) isolated: &'static [Direction],
    /// What it admits, in those of them that it names.
    pub(crate) rules: Vec<RuleSpec<'a>>,
}

/// What a rule admits.
#[derive(Debug)]
pub(crate) struct RuleSpec<'a> {
    pub(crate) direction: Direction,
    pub(crate) peers: PeersSpec<'a>,
    /// None means every port.
    pub(crate) ports: Box<[Port]>,
}

impl<'a> PolicySpec<'a> {
    /// A policy of which a part cannot be used admits less; one that does not say whom it is for isolates its whole
    /// Namespace and admits nobody.
    pub(crate) fn from_resource(policy: &'a NetworkPolicy) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let nothing = NetworkPolicySpec::default();
        let spec = policy.spec.as_ref();
        let isolated = isolated(spec.unwrap_or(&nothing), &mut problems);
        let mut rules = spec.map(|spec| rules(spec, &mut problems)).unwrap_or_default();
        let selector = spec.and_then(|spec| spec.pod_selector.as_ref());
        let pods = selector.map_or_else(|| Ok(Selector::default()), Selector::from_resource);
        let pods = pods.unwrap_or_else(|(field, reason)| {
            problems.push(Problem::new(format!("spec.podSelector.{field}"), reason));
            rules.clear();
            Selector::default()
        });
        let metadata = &policy.metadata;
        let spec = Self {
            namespace: metadata.namespace.as_deref().unwrap_or_default(),
            name: metadata.name.as_deref().unwrap_or_default(),
            uid: metadata.uid.as_deref().unwrap_or_default(),
            generation: metadata.generation.unwrap_or_default(),
            pods,
            isolated,
            rules,
        };
        (spec, problems)
    }
}

/// The directions that are named. A type that is unknown isolates in both.
fn isolated(spec: &NetworkPolicySpec, problems: &mut Vec<Problem>) -> &'static [Direction] {
    let types = spec.policy_types.as_deref().unwrap_or_default();
    let unknown = types.iter().position(|name| !matches!(name.as_str(), "Ingress" | "Egress"));
    if let Some((at, name)) = unknown.and_then(|at| Some((at, types.get(at)?))) {
        let reason = format!("{name:?} is neither Ingress nor Egress: isolates in both directions");
        problems.push(Problem::new(format!("spec.policyTypes[{at}]"), reason));
        return &[Direction::In, Direction::Out];
    }
    named(spec)
}

/// The directions that policyTypes names; without them ingress, and egress if there are rules for it, as the API server
/// defaults them.
fn named(spec: &NetworkPolicySpec) -> &'static [Direction] {
    let types = spec.policy_types.as_deref().unwrap_or_default();
    let named = |name: &str| types.iter().any(|other| other == name);
    let has_egress = spec.egress.as_ref().is_some_and(|rules| !rules.is_empty());
    let ingress = types.is_empty() || named("Ingress");
    let egress = if types.is_empty() { has_egress } else { named("Egress") };
    match (ingress, egress) {
        (true, true) => &[Direction::In, Direction::Out],
        (true, false) => &[Direction::In],
        (false, true) => &[Direction::Out],
        (false, false) => &[],
    }
}

/// The rules of directions that are named; others have no meaning.
fn rules<'a>(spec: &'a NetworkPolicySpec, problems: &mut Vec<Problem>) -> Vec<RuleSpec<'a>> {
    let named = named(spec);
    let count = spec.ingress.as_ref().map_or(0, Vec::len) + spec.egress.as_ref().map_or(0, Vec::len);
    let mut usable = Vec::with_capacity(count);
    let ingress = spec.ingress.iter().flatten().map(|rule| (&rule.from, &rule.ports)).enumerate();
    let egress = spec.egress.iter().flatten().map(|rule| (&rule.to, &rule.ports)).enumerate();
    let ingress = ingress.map(|(at, rule)| (Direction::In, at, rule));
    let egress = egress.map(|(at, rule)| (Direction::Out, at, rule));
    let meant = ingress.chain(egress).filter(|(direction, _, _)| named.contains(direction));
    usable.extend(meant.filter_map(|(direction, at, (peers, ports))| {
        rule(direction, at, peers.as_ref(), ports.as_ref(), problems)
    }));
    usable
}

fn rule<'a>(
    direction: Direction,
    at: usize,
    peers: Option<&'a Vec<NetworkPolicyPeer>>,
    ports: Option<&Vec<NetworkPolicyPort>>,
    problems: &mut Vec<Problem>,
) -> Option<RuleSpec<'a>> {
    let before = problems.len();
    let (rule, side) = match direction {
        Direction::In => ("ingress", "from"),
        Direction::Out => ("egress", "to"),
    };
    // Paths are written only for what is wrong: below, relative to the rule.
    let ports = port::ports("", ports, problems);
    let peers = peer::peers(side, peers, problems);
    for problem in problems.iter_mut().skip(before) {
        problem.field = format!("spec.{rule}[{at}].{}", problem.field.trim_start_matches('.'));
    }
    Some(RuleSpec { direction, peers: peers?, ports: ports? })
}
