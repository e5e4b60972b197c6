//! The verdict about a connection, with its reasons.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::{NetworkPolicyPeer, NetworkPolicyPort};

use crate::choices::{Choices, NamedPortInBlock, OwnNodeEgress};
use crate::cluster::Cluster;
use crate::object::name;
use crate::peer;
use crate::place::{self, Place, Unasked};
use crate::policy::{Direction, Effect, Rule, effect};
use crate::port::{self, Target};
use crate::question::Question;

/// What both ends say about a connection, which is allowed when neither denies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub egress: Side,
    pub ingress: Side,
}

/// What the policies of one end say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end is no Pod, or one in its Node's network.
    NotAPod,
    /// No policy can deny this connection, for the reason given.
    Exempt(&'static str),
    /// No policy selects the Pod for this direction.
    NotIsolated,
    /// By the rule, counted from 0, of this policy, the first of those that do.
    Admitted { policy: String, rule: usize },
    /// By these policies, none of which has a rule that admits the connection.
    Denied { policies: Vec<String> },
}

/// All that the answer depends on, seen from one end.
struct Case<'a> {
    cluster: &'a Cluster,
    choices: &'a Choices,
    direction: Direction,
    subject: Place<'a>,
    other: Place<'a>,
    target: Target<'a>,
}

/// Whether the policies of the cluster allow the connection, by the choices that the crate's documentation lists.
pub fn verdict(cluster: &Cluster, question: &Question) -> Result<Verdict, Unasked> {
    verdict_by(&Choices::default(), cluster, question)
}

/// The same by other choices.
pub fn verdict_by(choices: &Choices, cluster: &Cluster, question: &Question) -> Result<Verdict, Unasked> {
    let from = place::find(cluster, &question.from, question.family)?;
    let to = place::find(cluster, &question.to, question.family)?;
    between(choices, cluster, question, from, to)
}

/// The verdicts of many questions, in their order: each end is looked for once only.
pub fn verdicts(
    choices: &Choices,
    cluster: &Cluster,
    questions: &[Question],
) -> Vec<Result<Verdict, Unasked>> {
    let mut places = BTreeMap::new();
    let mut find = |end, family| {
        places.entry((end, family)).or_insert_with(|| place::find(cluster, end, family)).clone()
    };
    let judge = questions.iter().map(|question| {
        let (from, to) = (find(&question.from, question.family)?, find(&question.to, question.family)?);
        between(choices, cluster, question, from, to)
    });
    judge.collect()
}

fn between(
    choices: &Choices,
    cluster: &Cluster,
    question: &Question,
    from: Place<'_>,
    to: Place<'_>,
) -> Result<Verdict, Unasked> {
    if from.pod.or(to.pod).is_none() {
        return Err(Unasked::NoPod(question.from.clone(), question.to.clone()));
    }
    let target = Target { protocol: question.protocol, port: question.port, pod: to.pod };
    let case = |direction, subject, other| Case { cluster, choices, direction, subject, other, target };
    Ok(Verdict {
        egress: case(Direction::Egress, from, to).judge(),
        ingress: case(Direction::Ingress, to, from).judge(),
    })
}

impl Case<'_> {
    fn judge(&self) -> Side {
        let Some(pod) = self.subject.pod else { return Side::NotAPod };
        if let Some(reason) = self.exemption() {
            return Side::Exempt(reason);
        }
        let mut isolating = Vec::new();
        for policy in &self.cluster.policies {
            let Effect::Isolates(rules) = effect(policy, pod, self.direction) else { continue };
            let own = policy.metadata.namespace.as_deref().unwrap_or_default();
            if let Some(rule) = rules.iter().position(|rule| self.admits(rule, own)) {
                return Side::Admitted { policy: name(policy), rule };
            }
            isolating.push(name(policy));
        }
        if isolating.is_empty() { Side::NotIsolated } else { Side::Denied { policies: isolating } }
    }

    fn exemption(&self) -> Option<&'static str> {
        let (subject, other) = (&self.subject, &self.other);
        if other.pod.is_some() {
            return (other.address == subject.address).then_some("a Pod reaches itself");
        }
        let own_node = other.node.is_some() && other.node == subject.node;
        match (self.direction, self.choices.own_node_egress) {
            (Direction::Ingress, _) if own_node => Some("the Node reaches its own Pods"),
            (Direction::Egress, OwnNodeEgress::Exempt) if own_node => Some("a Pod reaches its own Node"),
            _ => None,
        }
    }

    /// "The traffic must match both ports and from."
    fn admits(&self, rule: &Rule<'_>, own: &str) -> bool {
        if rule.peers.is_empty() {
            return self.has_port(rule.ports, &self.target_of_everybody());
        }
        rule.peers.iter().any(|entry| {
            peer::is(entry, own, &self.other, self.cluster)
                && self.has_port(rule.ports, &self.target_of(entry))
        })
    }

    fn has_port(&self, ports: &[NetworkPolicyPort], target: &Target<'_>) -> bool {
        ports.is_empty() || ports.iter().any(|entry| port::has(entry, target))
    }

    /// The target as seen by a rule's peer, which need not know the names of its ports.
    fn target_of(&self, entry: &NetworkPolicyPeer) -> Target<'_> {
        let has_names = entry.ip_block.is_none() || self.has_any_names();
        Target { pod: self.target.pod.filter(|_| has_names), ..self.target }
    }

    /// The target as seen by a rule without peers.
    fn target_of_everybody(&self) -> Target<'_> {
        let has_names = |pod: &&Pod| peer::namespace(pod, self.cluster).is_some() || self.has_any_names();
        Target { pod: self.target.pod.filter(has_names), ..self.target }
    }

    /// Whether names of ports are known of a destination by its address alone.
    fn has_any_names(&self) -> bool {
        // Its own ports the Pod that the rule is for knows in any case.
        self.direction == Direction::Ingress
            || self.choices.named_port_in_block == NamedPortInBlock::OfDestination
    }
}

impl Verdict {
    /// The end that denies the connection; where both do, the source's, which the packet meets first.
    pub fn denied_by(&self) -> Option<Direction> {
        let denies = |side: &Side| matches!(side, Side::Denied { .. });
        match self {
            _ if denies(&self.egress) => Some(Direction::Egress),
            _ if denies(&self.ingress) => Some(Direction::Ingress),
            _ => None,
        }
    }

    pub fn is_allowed(&self) -> bool {
        self.denied_by().is_none()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denied_by() {
            None => write!(f, "allowed (egress: {}; ingress: {})", self.egress, self.ingress),
            Some(Direction::Egress) => write!(f, "denied at egress: {}", self.egress),
            Some(Direction::Ingress) => write!(f, "denied at ingress: {}", self.ingress),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPod => f.write_str("not a Pod"),
            Self::Exempt(reason) => f.write_str(reason),
            Self::NotIsolated => f.write_str("no policy selects the Pod"),
            Self::Admitted { policy, rule } => write!(f, "rule {rule} of {policy}"),
            Self::Denied { policies } => write!(f, "no rule of {} admits it", policies.join(", ")),
        }
    }
}
