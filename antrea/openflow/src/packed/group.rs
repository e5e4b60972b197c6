//! A group as bytes.

use std::sync::Arc;

use crate::codec::error::DecodeError;
use crate::codec::group::{buckets_from, kind_code, kind_from, put_bucket};
use crate::codec::reader::Reader;
use crate::codec::writer::{put_u8, put_u32};
use crate::{BUCKETS_PER_MESSAGE, Group, GroupId};

/// Number and kind.
const HEADER: usize = 5;

/// A group: number (32 bits), kind (8), then the buckets. Equal bytes are equal groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PackedGroup<B = Arc<[u8]>>(B);

impl PackedGroup {
    /// Packs a group; `buffer` is where it is put together.
    pub fn new(group: &Group, buffer: &mut Vec<u8>) -> Self {
        buffer.clear();
        put_u32(buffer, group.id.0);
        put_u8(buffer, kind_code(group.kind));
        group.buckets.iter().for_each(|bucket| put_bucket(buffer, bucket));
        Self(buffer.as_slice().into())
    }
}

impl<'a> PackedGroup<&'a [u8]> {
    /// What is in these bytes already.
    pub(super) const fn borrowed(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl<B: AsRef<[u8]>> PackedGroup<B> {
    /// What tells it from the other groups of a bridge, in their order.
    pub fn key(&self) -> &[u8] {
        self.0.as_ref().get(..4).unwrap_or_default()
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_ref()
    }

    /// Its number.
    pub fn id(&self) -> GroupId {
        GroupId(u32::from_be_bytes(self.key().first_chunk().copied().unwrap_or_default()))
    }

    /// As a value.
    ///
    /// # Errors
    /// If a bucket of it is longer than OpenFlow can say.
    pub fn unpack(&self) -> Result<Group, DecodeError> {
        let mut reader = Reader::new(self.0.as_ref(), "packed group");
        let id = GroupId(reader.u32()?);
        let kind = reader.u8()?;
        Ok(Group { id, kind: kind_from(kind, &reader)?, buckets: buckets_from(&mut reader)? })
    }

    /// How many messages it takes to install it.
    pub fn messages(&self) -> usize {
        // The smallest bucket has eight bytes: for most groups there is nothing to count.
        if self.buckets().len() <= BUCKETS_PER_MESSAGE * 8 { 1 } else { self.parts().count() }
    }

    /// How many buckets it has.
    pub fn bucket_count(&self) -> usize {
        let mut rest = self.buckets();
        let mut count = 0;
        while let Some((_, after)) = rest.split_at_checked(length_of_first(rest)).filter(|_| !rest.is_empty())
        {
            rest = after;
            count += 1;
        }
        count
    }

    pub(super) fn kind_code(&self) -> u8 {
        self.0.as_ref().get(4).copied().unwrap_or_default()
    }

    /// The bytes of the buckets, at most [`BUCKETS_PER_MESSAGE`] of them in a part; one part at least.
    pub(super) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = Some(self.buckets());
        std::iter::from_fn(move || {
            let buckets = rest?;
            let (part, after) = buckets.split_at_checked(part_length(buckets)).unwrap_or((buckets, &[]));
            rest = (!after.is_empty()).then_some(after);
            Some(part)
        })
    }

    fn buckets(&self) -> &[u8] {
        self.0.as_ref().get(HEADER..).unwrap_or_default()
    }
}

/// The bytes of the first buckets that go into one message.
fn part_length(buckets: &[u8]) -> usize {
    let mut length = 0;
    for _ in 0..BUCKETS_PER_MESSAGE {
        length += length_of_first(buckets.get(length..).unwrap_or_default());
    }
    length.min(buckets.len())
}

/// Each bucket begins with its length; less than that is taken as it is. A length that cannot be is that of a bucket which
/// is refused as too long, with all that follow.
fn length_of_first(buckets: &[u8]) -> usize {
    buckets.first_chunk().map_or(buckets.len(), |length| usize::from(u16::from_be_bytes(*length)).max(8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Bucket, BucketId, GroupKind, TableId};

    fn group(buckets: u32) -> Group {
        let bucket = |id| Bucket::new(BucketId(id), vec![Action::resubmit(TableId(1))]).weight(100);
        Group { id: GroupId(7), kind: GroupKind::Select, buckets: (0..buckets).map(bucket).collect() }
    }

    fn packed(buckets: u32) -> PackedGroup {
        PackedGroup::new(&group(buckets), &mut Vec::new())
    }

    #[test]
    fn a_group_is_unpacked_as_it_was_packed() {
        assert_eq!(packed(3).unpack().unwrap(), group(3));
        assert_eq!(packed(3).id(), GroupId(7));
        assert_eq!(packed(3).key(), packed(4).key());
    }

    #[track_caller]
    fn check_parts(buckets: u32, expect: &[usize]) {
        let packed = packed(buckets);
        // Eight bytes of header, 16 of the action, eight of the weight.
        let sizes: Vec<usize> = packed.parts().map(|part| part.len() / 32).collect();
        assert_eq!((sizes.as_slice(), packed.messages()), (expect, expect.len()));
        assert_eq!(packed.bucket_count(), expect.iter().sum());
    }

    #[test]
    fn many_buckets_are_installed_in_several_messages() {
        check_parts(0, &[0]);
        check_parts(700, &[700]);
        check_parts(701, &[700, 1]);
        check_parts(1500, &[700, 700, 100]);
    }
}
