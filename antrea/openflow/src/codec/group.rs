//! `OFPT_GROUP_MOD` and group descriptions (OpenFlow 1.5 §7.3.4.2, 7.3.4.3).

use antrea_types::OfPort;

use super::actions::{Place, actions_from, put_actions};
use super::error::DecodeError;
use super::property::{properties, put_property_u16, put_property_u32};
use super::reader::Reader;
use super::writer::{put_u8, put_u16, put_u32, put_zeros, set_length};
use crate::names::reserved_port;
use crate::{Bucket, BucketId, Group, GroupId, GroupKind, GroupMod};

/// `OFPGC_*`, and OVS's own to add or modify.
pub(crate) mod command {
    pub(super) const ADD: u16 = 0;
    pub(super) const MODIFY: u16 = 1;
    pub(super) const DELETE: u16 = 2;
    pub(crate) const INSERT_BUCKET: u16 = 3;
    pub(super) const REMOVE_BUCKET: u16 = 5;
    pub(crate) const ADD_OR_MODIFY: u16 = 0x8000;
}

/// `OFPGBPT_*`.
mod property {
    pub(super) const WEIGHT: u16 = 0;
    pub(super) const WATCH_PORT: u16 = 1;
    pub(super) const WATCH_GROUP: u16 = 2;
}

/// By code: that of OpenFlow (`OFPGT_*`), and one that stands for a selection method.
const KINDS: [GroupKind; 5] = [
    GroupKind::All,
    GroupKind::Select,
    GroupKind::Indirect,
    GroupKind::FastFailover,
    GroupKind::SelectByConnection,
];

const SELECT: u8 = 1;
const SELECT_BY_CONNECTION: u8 = 4;

pub(crate) const fn kind_code(kind: GroupKind) -> u8 {
    match kind {
        GroupKind::All => 0,
        GroupKind::Select => SELECT,
        GroupKind::Indirect => 2,
        GroupKind::FastFailover => 3,
        GroupKind::SelectByConnection => SELECT_BY_CONNECTION,
    }
}

/// What OpenFlow calls the kind with that code (`OFPGT_*`).
pub(crate) const fn wire_type(code: u8) -> u8 {
    if code == SELECT_BY_CONNECTION { SELECT } else { code }
}

/// The property of a group whose buckets are chosen by the datapath's hash of addresses, protocol and ports: experimenter
/// Netronome, selection method `dp_hash`, algorithm L4 (`struct ntr_group_prop_selection_method` in OVS'
/// `netronome-ext.h`).
const BY_CONNECTION: [u8; 40] =
    *b"\xff\xff\0\x28\0\0\x15\x4d\0\0\0\x01\0\0\0\0dp_hash\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// The properties of a group of the kind with that code.
pub(crate) fn put_properties(out: &mut Vec<u8>, code: u8) {
    if code == SELECT_BY_CONNECTION {
        out.extend_from_slice(&BY_CONNECTION);
    }
}

/// The code of the kind of a group with that type and those properties. What OVS knows beside that is left out.
pub(crate) fn code_from(wire_type: u8, properties: &mut Reader<'_>) -> Result<u8, DecodeError> {
    if wire_type >= SELECT_BY_CONNECTION {
        return Err(properties.bad_value(wire_type));
    }
    let mut code = wire_type;
    while !properties.is_empty() {
        let (_, bytes) = properties.element(4, 8)?;
        if wire_type == SELECT && bytes == BY_CONNECTION {
            code = SELECT_BY_CONNECTION;
        }
    }
    Ok(code)
}

pub(crate) fn kind_from(code: u8, reader: &Reader<'_>) -> Result<GroupKind, DecodeError> {
    KINDS.get(usize::from(code)).copied().ok_or_else(|| reader.bad_value(code))
}

pub(crate) fn put_group_mod(out: &mut Vec<u8>, message: &GroupMod) {
    let (command, id, kind, bucket, buckets): (_, _, _, _, &[Bucket]) = match message {
        GroupMod::Add(group) => (command::ADD, group.id, group.kind, BucketId::ALL, &group.buckets),
        GroupMod::Modify(group) => (command::MODIFY, group.id, group.kind, BucketId::ALL, &group.buckets),
        GroupMod::AddOrModify(group) => {
            (command::ADD_OR_MODIFY, group.id, group.kind, BucketId::ALL, &group.buckets)
        }
        GroupMod::Delete(id) => (command::DELETE, *id, GroupKind::All, BucketId::ALL, &[]),
        GroupMod::InsertBuckets { group, after } => {
            (command::INSERT_BUCKET, group.id, group.kind, *after, &group.buckets)
        }
        GroupMod::RemoveBucket { group, kind, bucket } => {
            (command::REMOVE_BUCKET, *group, *kind, *bucket, &[])
        }
    };
    let code = kind_code(kind);
    put_u16(out, command);
    put_u8(out, wire_type(code));
    put_zeros(out, 1);
    put_u32(out, id.0);
    let length_at = out.len();
    put_zeros(out, 4);
    put_u32(out, bucket.0);
    put_buckets(out, length_at, buckets);
    // Others change nothing but buckets.
    if matches!(command, command::ADD | command::MODIFY | command::ADD_OR_MODIFY) {
        put_properties(out, code);
    }
}

/// The buckets, and their length into the 16 bits at `length_at`.
fn put_buckets(out: &mut Vec<u8>, length_at: usize, buckets: &[Bucket]) {
    let start = out.len();
    for bucket in buckets {
        put_bucket(out, bucket);
    }
    set_length(out, length_at, start);
}

pub(crate) fn put_bucket(out: &mut Vec<u8>, bucket: &Bucket) {
    let start = out.len();
    put_zeros(out, 4);
    put_u32(out, bucket.id.0);
    let actions = out.len();
    put_actions(out, &bucket.actions);
    set_length(out, start + 2, actions);
    if let Some(weight) = bucket.weight {
        put_property_u16(out, property::WEIGHT, weight);
    }
    if let Some(port) = bucket.watch_port {
        put_property_u32(out, property::WATCH_PORT, port.0);
    }
    if let Some(group) = bucket.watch_group {
        put_property_u32(out, property::WATCH_GROUP, group.0);
    }
    set_length(out, start, start);
}

pub(crate) fn group_mod_from(reader: &mut Reader<'_>) -> Result<GroupMod, DecodeError> {
    let command = reader.u16()?;
    let wire_type = reader.u8()?;
    reader.skip(1)?;
    let id = GroupId(reader.u32()?);
    let length = usize::from(reader.u16()?);
    reader.skip(2)?;
    let bucket = BucketId(reader.u32()?);
    let buckets = buckets_from(&mut reader.part(length)?)?;
    let kind = kind_from(code_from(wire_type, reader)?, reader)?;
    let group = Group { id, kind, buckets };
    Ok(match command {
        command::ADD => GroupMod::Add(group),
        command::MODIFY => GroupMod::Modify(group),
        command::ADD_OR_MODIFY => GroupMod::AddOrModify(group),
        command::DELETE => GroupMod::Delete(id),
        command::INSERT_BUCKET => GroupMod::InsertBuckets { group, after: bucket },
        command::REMOVE_BUCKET => GroupMod::RemoveBucket { group: id, kind, bucket },
        _ => return Err(reader.bad_value(command)),
    })
}

pub(crate) fn buckets_from(reader: &mut Reader<'_>) -> Result<Vec<Bucket>, DecodeError> {
    let mut buckets = Vec::new();
    while !reader.is_empty() {
        buckets.push(bucket_from(reader)?);
    }
    Ok(buckets)
}

fn bucket_from(reader: &mut Reader<'_>) -> Result<Bucket, DecodeError> {
    let mut ahead = reader.clone();
    let length = usize::from(ahead.u16()?);
    let mut bucket = reader.part(length)?.named("bucket");
    bucket.skip(2)?;
    let actions_length = usize::from(bucket.u16()?);
    let id = BucketId(bucket.u32()?);
    let actions = actions_from(&mut bucket.part(actions_length)?, Place::Flow)?;
    let mut found = Bucket::new(id, actions);
    for (kind, mut value) in properties(&mut bucket, "bucket")? {
        match kind {
            property::WEIGHT => found.weight = Some(value.u16()?),
            property::WATCH_PORT => {
                found.watch_port = Some(OfPort(value.u32()?)).filter(|port| *port != reserved_port::ANY);
            }
            property::WATCH_GROUP => {
                found.watch_group = Some(GroupId(value.u32()?)).filter(|group| *group != GroupId::ANY);
            }
            _ => {}
        }
    }
    Ok(found)
}

/// An entry of a group description.
pub(crate) fn put_group_description(out: &mut Vec<u8>, group: &Group) {
    let start = out.len();
    put_zeros(out, 2);
    let code = kind_code(group.kind);
    put_u8(out, wire_type(code));
    put_zeros(out, 1);
    put_u32(out, group.id.0);
    let length_at = out.len();
    put_zeros(out, 8);
    put_buckets(out, length_at, &group.buckets);
    put_properties(out, code);
    set_length(out, start, start);
}

/// Reads an entry of a group description.
pub(crate) fn group_description_from(reader: &mut Reader<'_>) -> Result<Group, DecodeError> {
    let mut ahead = reader.clone();
    let length = usize::from(ahead.u16()?);
    let mut entry = reader.part(length)?.named("group description");
    entry.skip(2)?;
    let wire_type = entry.u8()?;
    entry.skip(1)?;
    let id = GroupId(entry.u32()?);
    let buckets_length = usize::from(entry.u16()?);
    entry.skip(6)?;
    let buckets = buckets_from(&mut entry.part(buckets_length)?)?;
    let kind = kind_from(code_from(wire_type, &mut entry)?, &entry)?;
    Ok(Group { id, kind, buckets })
}
