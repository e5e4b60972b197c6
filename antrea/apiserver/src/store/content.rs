//! What events are about, and their bytes.

use std::sync::Arc;

use antrea_policy::{ComputedPolicy, GroupMember, GroupName, Uid};
use antrea_shared_api::api::WireObject;
use antrea_shared_api::controlplane::Round;
use antrea_shared_api::controlplane::v1beta2::{AddressGroup, AppliedToGroup, NetworkPolicy};
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::watch::{EventType, to_frame, to_line};

use super::{AddressMembers, AppliedToMembers, Encoding, Kind};
use crate::wire;

/// What an event is about.
#[derive(Clone)]
pub(crate) enum Content {
    PolicyAdded(Arc<ComputedPolicy>),
    PolicyModified(Arc<ComputedPolicy>),
    PolicyDeleted(Arc<ComputedPolicy>),
    AddressGroupAdded(AddressMembers),
    AddressGroupPatch(Patch),
    AddressGroupDeleted(GroupName),
    AppliedToGroupAdded(AppliedToMembers),
    AppliedToGroupPatch(Patch),
    AppliedToGroupDeleted(GroupName),
    RoundEnded { kind: Kind, version: u64, number: u64, pods: Option<Vec<Uid>> },
}

/// Members that came to a group and left it.
#[derive(Clone, Debug)]
pub(crate) struct Patch {
    pub(crate) name: GroupName,
    pub(crate) added: Vec<GroupMember>,
    pub(crate) removed: Vec<GroupMember>,
}

impl Patch {
    /// A patch, unless it would change nothing.
    pub(super) fn new(name: GroupName, added: Vec<GroupMember>, removed: Vec<GroupMember>) -> Option<Self> {
        (!added.is_empty() || !removed.is_empty()).then_some(Self { name, added, removed })
    }
}

impl Content {
    /// The event in bytes. Nothing cannot be encoded; if something could not, its watch would have to end.
    pub(super) fn encode(&self, encoding: Encoding) -> Option<Vec<u8>> {
        use EventType::{Added, Deleted, Modified};
        match self {
            Self::PolicyAdded(policy) => encode(Added, &wire::policy(policy), encoding),
            Self::PolicyModified(policy) => encode(Modified, &wire::policy(policy), encoding),
            Self::PolicyDeleted(policy) => encode(Deleted, &wire::policy_head(policy), encoding),
            Self::AddressGroupAdded(group) => encode(Added, &wire::address_group(group), encoding),
            Self::AddressGroupPatch(patch) => encode(Modified, &wire::address_group_patch(patch), encoding),
            Self::AddressGroupDeleted(name) => encode(Deleted, &wire::address_group_head(*name), encoding),
            Self::AppliedToGroupAdded(group) => {
                encode(Added, &wire::applied_to_group(group.name, group.all()), encoding)
            }
            Self::AppliedToGroupPatch(patch) => {
                encode(Modified, &wire::applied_to_group_patch(patch), encoding)
            }
            Self::AppliedToGroupDeleted(name) => {
                encode(Deleted, &wire::applied_to_group(*name, &[]), encoding)
            }
            Self::RoundEnded { kind, version, number, pods } => {
                let mut metadata = Metadata::bookmark(*version);
                round(*number, pods.as_deref()).annotate(&mut metadata);
                bookmark(*kind, metadata, encoding)
            }
        }
    }
}

/// A round as it is written.
pub(super) fn round(number: u64, pods: Option<&[Uid]>) -> Round {
    Round { number, pods: pods.map(|pods| pods.iter().map(Uid::to_string).collect()) }
}

/// A bookmark in the watch of a kind.
pub(crate) fn bookmark(kind: Kind, metadata: Metadata, encoding: Encoding) -> Option<Vec<u8>> {
    let mark = EventType::Bookmark;
    match kind {
        Kind::Policies => encode(mark, &NetworkPolicy { metadata, ..NetworkPolicy::default() }, encoding),
        Kind::AddressGroups => encode(mark, &AddressGroup { metadata, ..AddressGroup::default() }, encoding),
        Kind::AppliedToGroups => {
            encode(mark, &AppliedToGroup { metadata, ..AppliedToGroup::default() }, encoding)
        }
    }
}

fn encode<T: WireObject>(event_type: EventType, object: &T, encoding: Encoding) -> Option<Vec<u8>> {
    match encoding {
        Encoding::Json => to_line(event_type, object).ok(),
        Encoding::Protobuf => Some(to_frame(event_type, object)),
    }
}
