//! From a rule that knows its members to what the switch admits.

use std::collections::{BTreeMap, BTreeSet};

use antrea_pipeline::policy::{Peers, PolicyRule, Sender, Services, Target, Traffic, without};
use antrea_shared_api::controlplane::v1beta2::{
    Direction, GroupMember, NetworkPolicyPeer, NetworkPolicyRule, RuleAction,
};
use antrea_types::PodRef;
use ipnet::IpNet;

use crate::services::Wanted;
use crate::{CompletedRule, Problem, Rule};

/// The Pods of this Node that have an interface; two while an old sandbox is being removed.
pub(crate) type LocalPods = BTreeMap<PodRef, BTreeSet<Target>>;

/// What a rule comes to on this Node.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// One for each of the services that members have; none while no Pod that it is applied to has an interface.
    pub(crate) rules: Vec<PolicyRule>,
    /// The Pods that it is applied to, with and without interfaces.
    pub(crate) targets: BTreeSet<PodRef>,
    /// What of it cannot be enforced.
    pub(crate) problems: BTreeSet<Problem>,
}

/// What a rule does.
enum Effect {
    Admits,
    Isolates,
    /// Nothing that this agent can do, and nothing is let through for that.
    Nothing,
}

pub(crate) fn plan(completed: &CompletedRule<'_>, pods: &LocalPods) -> Plan {
    let content = &completed.rule.content;
    let mut problems = BTreeSet::new();
    let rules = match effect(completed.rule, &mut problems) {
        Effect::Nothing => Vec::new(),
        Effect::Isolates => isolation(completed, pods),
        Effect::Admits => {
            problems.extend(unknown_peers(content.peers()));
            let wanted = Wanted::of(&content.services, &mut problems);
            match content.direction {
                Direction::In => ingress(completed, &wanted, pods),
                Direction::Out => egress(completed, &wanted, pods),
            }
        }
    };
    Plan { rules, targets: completed.target_members().filter_map(pod).collect(), problems }
}

fn effect(rule: &Rule, problems: &mut BTreeSet<Problem>) -> Effect {
    let (effect, problem) = match (rule.content.action, rule.tier_priority) {
        (Some(action @ (RuleAction::Drop | RuleAction::Reject)), _) => {
            (Effect::Isolates, Some(Problem::Closed(action)))
        }
        (Some(RuleAction::Pass), _) => (Effect::Nothing, Some(Problem::LeftOut(RuleAction::Pass))),
        (None | Some(RuleAction::Allow), Some(_)) => {
            (Effect::Nothing, Some(Problem::LeftOut(RuleAction::Allow)))
        }
        _ if !rule.content.l7_protocols.is_empty() => (Effect::Isolates, Some(Problem::Layer7)),
        _ => (Effect::Admits, None),
    };
    problems.extend(problem);
    effect
}

fn unknown_peers(peer: &NetworkPolicyPeer) -> impl Iterator<Item = Problem> {
    let kinds = [
        ("fqdn", peer.fqdns.is_empty()),
        ("toServices", peer.to_services.is_empty()),
        ("label identity", peer.label_identities.is_empty()),
    ];
    kinds.into_iter().filter(|(_, absent)| !absent).map(|(kind, _)| Problem::Peers(kind))
}

fn isolation(completed: &CompletedRule<'_>, pods: &LocalPods) -> Vec<PolicyRule> {
    let targets = interfaces(completed.target_members(), pods);
    let traffic = match completed.rule.content.direction {
        Direction::In => Traffic::From(Peers::Only(BTreeSet::new())),
        Direction::Out => Traffic::To(Peers::Only(BTreeSet::new())),
    };
    let isolates = (!targets.is_empty()).then_some(PolicyRule { targets, traffic, services: Services::Any });
    isolates.into_iter().collect()
}

/// Ports have the names that the targets give them.
fn ingress(completed: &CompletedRule<'_>, wanted: &Wanted, pods: &LocalPods) -> Vec<PolicyRule> {
    let members = completed.peer_members().flat_map(addresses);
    let senders: BTreeSet<_> = members.chain(blocks(&completed.rule.content)).map(Sender::Net).collect();
    let rule = |(services, members): (Services, Vec<&GroupMember>)| {
        let targets = interfaces(members.into_iter(), pods);
        let senders = if is_nothing(&services) { BTreeSet::new() } else { senders.clone() };
        let traffic = Traffic::From(Peers::Only(senders));
        (!targets.is_empty()).then_some(PolicyRule { targets, traffic, services })
    };
    wanted.split(completed.target_members()).into_iter().filter_map(rule).collect()
}

/// Ports have the names that the peers give them.
fn egress(completed: &CompletedRule<'_>, wanted: &Wanted, pods: &LocalPods) -> Vec<PolicyRule> {
    let targets = interfaces(completed.target_members(), pods);
    if targets.is_empty() {
        return Vec::new();
    }
    let mut receivers: BTreeMap<Services, BTreeSet<IpNet>> = BTreeMap::new();
    receivers.insert(wanted.numbered(), blocks(&completed.rule.content).collect());
    for (services, members) in wanted.split(completed.peer_members()) {
        receivers.entry(services).or_default().extend(members.into_iter().flat_map(addresses));
    }
    receivers.retain(|services, networks| !networks.is_empty() && !is_nothing(services));
    if receivers.is_empty() {
        receivers.insert(wanted.numbered(), BTreeSet::new());
    }
    let rule = |(services, networks)| PolicyRule {
        targets: targets.clone(),
        traffic: Traffic::To(Peers::Only(networks)),
        services,
    };
    receivers.into_iter().map(rule).collect()
}

fn is_nothing(services: &Services) -> bool {
    matches!(services, Services::Only(services) if services.is_empty())
}

fn addresses(member: &GroupMember) -> impl Iterator<Item = IpNet> {
    member.ips.iter().copied().map(IpNet::from)
}

fn blocks(rule: &NetworkPolicyRule) -> impl Iterator<Item = IpNet> {
    rule.peers().ip_blocks.iter().flat_map(|block| without(block.cidr, &block.except))
}

fn interfaces<'a>(members: impl Iterator<Item = &'a GroupMember>, pods: &LocalPods) -> BTreeSet<Target> {
    members.filter_map(pod).filter_map(|pod| pods.get(&pod)).flatten().copied().collect()
}

fn pod(member: &GroupMember) -> Option<PodRef> {
    let pod = member.pod.as_ref()?;
    Some(PodRef { namespace: pod.namespace.clone(), name: pod.name.clone() })
}
