//! What a controller says.

use antrea_agent_policy::{PolicyEvent, Watch};
use antrea_shared_api::controlplane::Round;
use antrea_shared_api::controlplane::v1beta2::{
    AddressGroup, AppliedToGroup, Direction, GroupMember, IpBlock, NetworkPolicy, NetworkPolicyReference,
    NetworkPolicyRule, NetworkPolicyType, PodReference, RuleAction,
};
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::watch::Event;

use super::node::Pod;
use crate::antrea_controller::Heard;

/// All watches begin, say this, and that it is all. Nothing is said of rounds.
pub(super) fn all(said: impl IntoIterator<Item = Heard>) -> Vec<Heard> {
    let begin = Watch::ALL.into_iter().map(Heard::Connected);
    begin.chain(said).chain(bookmarks(&Metadata::default())).collect()
}

/// The same of a controller that knows these Pods.
pub(super) fn all_with(pods: &[Pod], said: impl IntoIterator<Item = Heard>) -> Vec<Heard> {
    let begin = Watch::ALL.into_iter().map(Heard::Connected);
    begin.chain(said).chain(round(1, pods)).collect()
}

/// A round ends, by when the controller knows these Pods.
pub(super) fn round(number: u64, pods: &[Pod]) -> Vec<Heard> {
    let pods = Some(pods.iter().map(|pod| pod.uid.to_owned()).collect());
    let mut metadata = Metadata::default();
    Round { number, pods }.annotate(&mut metadata);
    bookmarks(&metadata).into()
}

fn bookmarks(metadata: &Metadata) -> [Heard; 3] {
    let metadata = || metadata.clone();
    [
        PolicyEvent::NetworkPolicy(Event::Bookmark(NetworkPolicy {
            metadata: metadata(),
            ..Default::default()
        })),
        PolicyEvent::AddressGroup(Event::Bookmark(AddressGroup {
            metadata: metadata(),
            ..Default::default()
        })),
        PolicyEvent::AppliedToGroup(Event::Bookmark(AppliedToGroup {
            metadata: metadata(),
            ..Default::default()
        })),
    ]
    .map(Heard::Event)
}

/// No watch can be begun.
pub(super) fn away() -> Vec<Heard> {
    Watch::ALL.into_iter().map(Heard::Away).collect()
}

/// A group of Pods of the Node, called `targets`.
pub(super) fn targets(pods: &[Pod]) -> Heard {
    let member =
        |pod: &Pod| GroupMember { pod: Some(PodReference::new("x", pod.name)), ..GroupMember::default() };
    Heard::Event(PolicyEvent::AppliedToGroup(Event::Added(AppliedToGroup {
        metadata: Metadata::new("targets", "targets"),
        group_members: pods.iter().map(member).collect(),
    })))
}

/// A policy by which `targets` admit these networks and nobody else; it is of a kind whose status agents report.
pub(super) fn admitting(name: &str, generation: i64, networks: &[String]) -> NetworkPolicy {
    let mut rule = NetworkPolicyRule::isolation(Direction::In);
    rule.action = (!networks.is_empty()).then_some(RuleAction::Allow);
    let block = |network: &String| IpBlock { cidr: network.parse().unwrap(), except: Vec::new() };
    rule.from.ip_blocks = networks.iter().map(block).collect();
    NetworkPolicy {
        metadata: Metadata { generation, ..Metadata::new(name, name) },
        rules: vec![rule],
        applied_to_groups: vec!["targets".to_owned()],
        source_ref: Some(NetworkPolicyReference {
            policy_type: NetworkPolicyType::AntreaNetworkPolicy,
            namespace: "x".to_owned(),
            name: name.to_owned(),
            uid: name.to_owned(),
        }),
        ..NetworkPolicy::default()
    }
}

pub(super) fn added(policy: NetworkPolicy) -> Heard {
    Heard::Event(PolicyEvent::NetworkPolicy(Event::Added(policy)))
}

pub(super) fn modified(policy: NetworkPolicy) -> Heard {
    Heard::Event(PolicyEvent::NetworkPolicy(Event::Modified(policy)))
}
