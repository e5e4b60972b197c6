//! Watches that were recorded from upstream's controller, from updates of ours, byte for byte.

use std::fs;
use std::sync::Arc;

use antrea_apiserver::store::{Encoding, Kind, Rounds, Selector, Store};
use antrea_policy as policy;
use antrea_policy::{
    ComputedPolicy, Content, GroupMember, GroupName, GroupUpdate, Peer, Pod, PolicyUpdate, PortMatch, Source,
    SourceKind, Span, SpanChange, Update,
};
use antrea_shared_api::controlplane::v1beta2::{
    self as api, AddressGroup, AddressGroupPatch, AppliedToGroup, AppliedToGroupPatch, NetworkPolicy,
};
use antrea_shared_api::watch::{Event, Watched};
use antrea_types::Protocol;

fn recorded(name: &str) -> Vec<u8> {
    let folder = "../../shared-api/tests/golden/controlplane/networkpolicy/watch";
    fs::read(format!("{}/{folder}/{name}", env!("CARGO_MANIFEST_DIR"))).expect(name)
}

/// The recorded watch begins with the bookmark of an empty store: the rest is what updates bring about.
#[track_caller]
fn check<T: Watched + std::fmt::Debug>(name: &str, kind: Kind, update: fn(Event<T>) -> Update) {
    let json = recorded(&format!("{name}.json.stream"));
    let mut store = Store::default();
    let mut watch = store.watch(kind, Selector::default(), Rounds::Untold);
    let mut lines = json.split_inclusive(|byte| *byte == b'\n').filter(|line| line.len() > 1);
    let bookmark = lines.next().unwrap();
    assert!(matches!(Event::<T>::from_line(bookmark).unwrap(), Event::Bookmark(_)), "{name}");
    lines.for_each(|line| store.apply(update(Event::from_line(line).unwrap())));
    let mut events = Vec::new();
    while let Some(event) = watch.events.next_waiting() {
        events.push(event);
    }
    let all = |encoding| -> Vec<u8> {
        events.iter().flat_map(|event| event.encoded(encoding).unwrap().to_vec()).collect()
    };
    let expected = String::from_utf8_lossy(&json[bookmark.len()..]).into_owned();
    assert_eq!(String::from_utf8(all(Encoding::Json)).unwrap(), expected, "{name}");
    let protobuf = recorded(&format!("{name}.protobuf.stream"));
    let rest = all(Encoding::Protobuf);
    assert_eq!(rest.len(), without_bookmark(&protobuf).len(), "{name}");
    // Members of groups have no order; where they have the same in both recordings, so have the bytes.
    if name == "networkpolicies" {
        assert!(rest == without_bookmark(&protobuf), "{name}");
    }
}

/// A stream without its first frame.
fn without_bookmark(stream: &[u8]) -> &[u8] {
    let (length, rest) = stream.split_first_chunk().unwrap();
    &rest[usize::try_from(u32::from_be_bytes(*length)).unwrap()..]
}

fn span() -> Span {
    Span::from_sorted(vec!["c2n1".into()])
}

fn change() -> SpanChange {
    SpanChange { before: span(), after: span() }
}

#[test]
fn networkpolicies() {
    check::<NetworkPolicy>("networkpolicies", Kind::Policies, |event| {
        Update::Policy(match event {
            Event::Added(object) => PolicyUpdate::Added { policy: computed(&object), span: span() },
            Event::Modified(object) => {
                let (policy, content, span) = (computed(&object), Content::Changed, change());
                PolicyUpdate::Modified { policy, content, span }
            }
            Event::Deleted(object) => PolicyUpdate::Removed { policy: computed(&object), span: span() },
            other => panic!("{other:?}"),
        })
    });
}

#[test]
fn addressgroups() {
    check::<AddressGroup>("addressgroups", Kind::AddressGroups, |event| {
        Update::AddressGroup(match event {
            Event::Added(AddressGroup { metadata, group_members }) => GroupUpdate::Added {
                group: policy::AddressGroup { name: name(&metadata.name), members: members(&group_members) },
                span: span(),
            },
            Event::Modified(AddressGroupPatch { metadata, added_group_members, removed_group_members }) => {
                patch(&metadata.name, &added_group_members, &removed_group_members)
            }
            other => panic!("{other:?}"),
        })
    });
}

#[test]
fn appliedtogroups() {
    check::<AppliedToGroup>("appliedtogroups", Kind::AppliedToGroups, |event| {
        Update::AppliedToGroup(match event {
            Event::Added(AppliedToGroup { metadata, group_members }) => GroupUpdate::Added {
                group: policy::AppliedToGroup {
                    name: name(&metadata.name),
                    members: members(&group_members),
                },
                span: span(),
            },
            Event::Modified(AppliedToGroupPatch { metadata, added_group_members, removed_group_members }) => {
                patch(&metadata.name, &added_group_members, &removed_group_members)
            }
            other => panic!("{other:?}"),
        })
    });
}

fn patch<Group>(group: &str, added: &[api::GroupMember], removed: &[api::GroupMember]) -> GroupUpdate<Group> {
    let (added, removed) = (members(added), members(removed));
    GroupUpdate::Modified { name: name(group), added, removed, span: change() }
}

fn name(text: &str) -> GroupName {
    text.parse().unwrap()
}

fn members(members: &[api::GroupMember]) -> Vec<GroupMember> {
    let member = |member: &api::GroupMember| {
        let pod = member.pod.as_ref().unwrap();
        let port = |port: &api::NamedPort| policy::NamedPort {
            name: port.name.as_str().into(),
            port: port.port,
            protocol: protocol(port.protocol),
        };
        GroupMember::Pod(Arc::new(Pod {
            namespace: pod.namespace.as_str().into(),
            name: pod.name.as_str().into(),
            ips: member.ips.iter().copied().collect(),
            ports: Some(member.ports.iter().map(port).collect()),
            node: Some("c2n1".into()),
        }))
    };
    members.iter().map(member).collect()
}

fn computed(object: &NetworkPolicy) -> Arc<ComputedPolicy> {
    let source = object.source_ref.as_ref().unwrap();
    Arc::new(ComputedPolicy {
        source: Source {
            kind: SourceKind::K8sNetworkPolicy,
            namespace: source.namespace.as_str().into(),
            name: source.name.as_str().into(),
            uid: source.uid.as_str().into(),
        },
        generation: object.metadata.generation,
        rules: object.rules.iter().map(rule).collect(),
        applied_to: object.applied_to_groups.iter().map(|group| name(group)).collect(),
    })
}

fn rule(rule: &api::NetworkPolicyRule) -> policy::Rule {
    let peer = rule.peers();
    let block =
        |block: &api::IpBlock| policy::IpBlock { cidr: block.cidr, except: block.except.clone().into() };
    let direction = match rule.direction {
        api::Direction::In => policy::Direction::In,
        api::Direction::Out => policy::Direction::Out,
    };
    policy::Rule {
        direction,
        peer: Peer {
            address_groups: peer.address_groups.iter().map(|group| name(group)).collect(),
            ip_blocks: peer.ip_blocks.iter().map(block).collect(),
        },
        ports: rule.services.iter().map(port).collect(),
        priority: rule.priority,
        action: rule.action.map(|_| policy::Action::Allow),
        logging: policy::Logging::Off,
    }
}

fn port(service: &api::Service) -> policy::Port {
    let ports = match (&service.port, service.end_port) {
        (None, _) => PortMatch::Any,
        (Some(api::Port::Name(name)), _) => PortMatch::Name(name.as_str().into()),
        (Some(api::Port::Number(first)), Some(last)) => PortMatch::Range(*first, last),
        (Some(api::Port::Number(number)), None) => PortMatch::Number(*number),
    };
    policy::Port { protocol: protocol(service.protocol.unwrap()), ports }
}

fn protocol(protocol: api::Protocol) -> Protocol {
    match protocol {
        api::Protocol::Tcp => Protocol::Tcp,
        api::Protocol::Udp => Protocol::Udp,
        other => panic!("{other:?}"),
    }
}
