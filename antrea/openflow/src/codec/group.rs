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

const KINDS: [GroupKind; 4] =
    [GroupKind::All, GroupKind::Select, GroupKind::Indirect, GroupKind::FastFailover];

pub(crate) fn kind_code(kind: GroupKind) -> u8 {
    match kind {
        GroupKind::All => 0,
        GroupKind::Select => 1,
        GroupKind::Indirect => 2,
        GroupKind::FastFailover => 3,
    }
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
    put_u16(out, command);
    put_u8(out, kind_code(kind));
    put_zeros(out, 1);
    put_u32(out, id.0);
    let length_at = out.len();
    put_zeros(out, 4);
    put_u32(out, bucket.0);
    put_buckets(out, length_at, buckets);
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
    let kind = reader.u8()?;
    let kind = kind_from(kind, reader)?;
    reader.skip(1)?;
    let id = GroupId(reader.u32()?);
    let length = usize::from(reader.u16()?);
    reader.skip(2)?;
    let bucket = BucketId(reader.u32()?);
    let buckets = buckets_from(&mut reader.part(length)?)?;
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
    put_u8(out, kind_code(group.kind));
    put_zeros(out, 1);
    put_u32(out, group.id.0);
    let length_at = out.len();
    put_zeros(out, 8);
    put_buckets(out, length_at, &group.buckets);
    set_length(out, start, start);
}

/// Reads an entry of a group description. What OVS knows of a group beside its buckets is left out.
pub(crate) fn group_description_from(reader: &mut Reader<'_>) -> Result<Group, DecodeError> {
    let mut ahead = reader.clone();
    let length = usize::from(ahead.u16()?);
    let mut entry = reader.part(length)?.named("group description");
    entry.skip(2)?;
    let kind = entry.u8()?;
    let kind = kind_from(kind, &entry)?;
    entry.skip(1)?;
    let id = GroupId(entry.u32()?);
    let buckets_length = usize::from(entry.u16()?);
    entry.skip(6)?;
    Ok(Group { id, kind, buckets: buckets_from(&mut entry.part(buckets_length)?)? })
}
