//! Computed policies and groups as objects of `controlplane.antrea.io/v1beta2`.

use antrea_policy::{
    Action, ComputedPolicy, Direction, GroupMember, GroupName, Logging, Pod, PortMatch, Rule, SourceKind,
};
use antrea_shared_api::controlplane::v1beta2 as api;
use antrea_shared_api::meta::Metadata;
use antrea_types::Protocol;

use crate::store::{AddressMembers, Patch};

/// What is told of a policy that is gone: what it was, but not what it said.
pub(crate) fn policy_head(policy: &ComputedPolicy) -> api::NetworkPolicy {
    let source = &policy.source;
    let uid = source.uid.to_string();
    let policy_type = match source.kind {
        SourceKind::K8sNetworkPolicy => api::NetworkPolicyType::K8sNetworkPolicy,
    };
    api::NetworkPolicy {
        metadata: Metadata { generation: policy.generation, ..Metadata::new(uid.clone(), uid.clone()) },
        source_ref: Some(api::NetworkPolicyReference {
            policy_type,
            namespace: source.namespace.to_string(),
            name: source.name.to_string(),
            uid,
        }),
        ..api::NetworkPolicy::default()
    }
}

pub(crate) fn policy(policy: &ComputedPolicy) -> api::NetworkPolicy {
    api::NetworkPolicy {
        rules: policy.rules.iter().map(rule).collect(),
        applied_to_groups: names(&policy.applied_to),
        ..policy_head(policy)
    }
}

fn names(groups: &[GroupName]) -> Vec<String> {
    groups.iter().map(GroupName::to_string).collect()
}

fn rule(rule: &Rule) -> api::NetworkPolicyRule {
    let peer = api::NetworkPolicyPeer {
        address_groups: names(&rule.peer.address_groups),
        ip_blocks: rule.peer.ip_blocks.iter().map(ip_block).collect(),
        ..api::NetworkPolicyPeer::default()
    };
    let nobody = api::NetworkPolicyPeer::default;
    let (direction, from, to) = match rule.direction {
        Direction::In => (api::Direction::In, peer, nobody()),
        Direction::Out => (api::Direction::Out, nobody(), peer),
    };
    api::NetworkPolicyRule {
        from,
        to,
        services: rule.ports.iter().map(service).collect(),
        priority: rule.priority,
        action: rule.action.map(|action| match action {
            Action::Allow => api::RuleAction::Allow,
        }),
        enable_logging: rule.logging == Logging::On,
        ..api::NetworkPolicyRule::isolation(direction)
    }
}

fn ip_block(block: &antrea_policy::IpBlock) -> api::IpBlock {
    api::IpBlock { cidr: block.cidr, except: block.except.to_vec() }
}

fn service(port: &antrea_policy::Port) -> api::Service {
    let (first, last) = match &port.ports {
        PortMatch::Any => (None, None),
        PortMatch::Number(number) => (Some(api::Port::Number(*number)), None),
        PortMatch::Range(first, last) => (Some(api::Port::Number(*first)), Some(*last)),
        PortMatch::Name(name) => (Some(api::Port::Name(name.to_string())), None),
    };
    api::Service {
        protocol: Some(protocol(port.protocol)),
        port: first,
        end_port: last,
        ..api::Service::default()
    }
}

const fn protocol(protocol: Protocol) -> api::Protocol {
    match protocol {
        Protocol::Tcp => api::Protocol::Tcp,
        Protocol::Udp => api::Protocol::Udp,
        Protocol::Sctp => api::Protocol::Sctp,
    }
}

/// Groups that are named after their selector have that name as UID.
fn group_metadata(name: GroupName) -> Metadata {
    Metadata::new(name.to_string(), name.to_string())
}

pub(crate) fn address_group_head(name: GroupName) -> api::AddressGroup {
    api::AddressGroup { metadata: group_metadata(name), group_members: Vec::new() }
}

pub(crate) fn address_group(group: &AddressMembers) -> api::AddressGroup {
    api::AddressGroup { group_members: address_members(group.all()), ..address_group_head(group.name) }
}

pub(crate) fn address_group_patch(patch: &Patch) -> api::AddressGroupPatch {
    api::AddressGroupPatch {
        metadata: group_metadata(patch.name),
        added_group_members: address_members(&patch.added),
        removed_group_members: address_members(&patch.removed),
    }
}

pub(crate) fn applied_to_group(name: GroupName, members: &[GroupMember]) -> api::AppliedToGroup {
    api::AppliedToGroup { metadata: group_metadata(name), group_members: applied_to_members(members) }
}

pub(crate) fn applied_to_group_patch(patch: &Patch) -> api::AppliedToGroupPatch {
    api::AppliedToGroupPatch {
        metadata: group_metadata(patch.name),
        added_group_members: applied_to_members(&patch.added),
        removed_group_members: applied_to_members(&patch.removed),
    }
}

fn address_members(members: &[GroupMember]) -> Vec<api::GroupMember> {
    let with_addresses = |GroupMember::Pod(pod): &GroupMember| api::GroupMember {
        ips: pod.ips.iter().collect(),
        ..member(pod)
    };
    members.iter().map(with_addresses).collect()
}

fn applied_to_members(members: &[GroupMember]) -> Vec<api::GroupMember> {
    members.iter().map(|GroupMember::Pod(pod)| member(pod)).collect()
}

fn member(pod: &Pod) -> api::GroupMember {
    let ports = pod.ports.iter().flat_map(|ports| ports.iter());
    let port = |port: &antrea_policy::NamedPort| api::NamedPort {
        port: port.port,
        name: port.name.to_string(),
        protocol: protocol(port.protocol),
    };
    api::GroupMember {
        pod: Some(api::PodReference::new(pod.namespace.to_string(), pod.name.to_string())),
        ports: ports.map(port).collect(),
        ..api::GroupMember::default()
    }
}
