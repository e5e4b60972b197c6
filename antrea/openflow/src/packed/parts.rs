//! Replies with flows and groups, entry by entry and without values.

use super::{PackedFlow, PackedGroup};
use crate::codec::error::DecodeError;
use crate::codec::group::{buckets_from, code_from, put_bucket};
use crate::codec::instructions::{instructions_from, put_instructions};
use crate::codec::oxm::{entries_from, put_entries};
use crate::codec::reader::Reader;
use crate::codec::writer::{put_u8, put_u16, put_u32, set_length};
use crate::message::{FlowEntry, HEADER_LENGTH, More, MultipartReply};
use crate::{Cookie, Flow, GroupId, TableId};

/// `OFPT_MULTIPART_REPLY`.
const MULTIPART_REPLY: u8 = 19;
/// Type, flags and padding of a reply with state.
const MULTIPART_HEADER: usize = 8;

/// A flow of a reply, as it stands there.
#[derive(Clone, Copy, Debug)]
pub struct FlowPart<'a> {
    entry: &'a [u8],
    /// Table, padding, priority, idle timeout, hard timeout, flags, importance, cookie.
    fixed: [u8; 20],
    entries: &'a [u8],
    instructions: &'a [u8],
}

/// A group of a reply, as it stands there.
#[derive(Clone, Copy, Debug)]
pub struct GroupPart<'a> {
    /// Its number.
    pub id: GroupId,
    kind: u8,
    buckets: &'a [u8],
}

/// The flows of a message that is a reply with flows, or a part of one.
///
/// # Errors
/// Each that breaks the format; nothing follows it.
pub fn flow_parts(message: &[u8]) -> impl Iterator<Item = Result<FlowPart<'_>, DecodeError>> {
    entries(message, "flow description", FlowPart::read)
}

/// The groups of a message that is a reply with groups, or a part of one.
///
/// # Errors
/// Each that breaks the format; nothing follows it.
pub fn group_parts(message: &[u8]) -> impl Iterator<Item = Result<GroupPart<'_>, DecodeError>> {
    entries(message, "group description", GroupPart::read)
}

/// The groups of a message that is a reply with their statistics, or a part of one, each with the number of its buckets.
///
/// # Errors
/// Each that breaks the format; nothing follows it.
pub fn group_sizes(message: &[u8]) -> impl Iterator<Item = Result<(GroupId, usize), DecodeError>> {
    // Padding, and after the number: references, padding, packets, bytes, duration; then packets and bytes of each bucket.
    entries(message, "group statistics", |_, mut reader| {
        reader.skip(2)?;
        let id = GroupId(reader.u32()?);
        reader.skip(4 + 4 + 8 + 8 + 8)?;
        Ok((id, reader.left() / 16))
    })
}

impl MultipartReply {
    /// Whether more messages follow this one; none if it is no reply with state.
    pub fn is_more(message: &[u8]) -> Option<More> {
        let kind = message.get(1).filter(|kind| **kind == MULTIPART_REPLY);
        let flags = message.get(HEADER_LENGTH + 2..).and_then(|rest| rest.first_chunk().copied());
        kind.and(flags).map(|flags| if u16::from_be_bytes(flags) & 1 == 1 { More::More } else { More::Last })
    }
}

/// Entries that begin with their length of 16 bits, which counts itself.
fn entries<'a, T>(
    message: &'a [u8],
    what: &'static str,
    read: impl Fn(&'a [u8], Reader<'a>) -> Result<T, DecodeError>,
) -> impl Iterator<Item = Result<T, DecodeError>> {
    let mut rest = Reader::new(message.get(HEADER_LENGTH + MULTIPART_HEADER..).unwrap_or_default(), what);
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = rest.clone().u16();
        let entry = length.and_then(|length| rest.take(usize::from(length.max(2))));
        let outcome = entry.and_then(|entry| {
            let mut reader = Reader::new(entry, what);
            reader.skip(2)?;
            read(entry, reader)
        });
        if outcome.is_err() {
            rest.rest();
        }
        Some(outcome)
    })
}

impl<'a> FlowPart<'a> {
    fn read(entry: &'a [u8], mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        reader.skip(2)?;
        let fixed = reader.array()?;
        let (_, matching) = reader.element(4, 8)?;
        let _statistics = reader.element(4, 8)?;
        let entries = matching.get(4..).unwrap_or_default();
        Ok(Self { entry, fixed, entries, instructions: reader.rest() })
    }

    /// Where it is.
    pub const fn table(&self) -> TableId {
        let [table, ..] = self.fixed;
        TableId(table)
    }

    /// Its label.
    pub const fn cookie(&self) -> Cookie {
        let [.., a, b, c, d, e, f, g, h] = self.fixed;
        Cookie(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }

    /// The flow with its bytes in the order of a packed one, but as the switch wrote them, in `buffer`.
    pub fn as_sent<'b>(&self, buffer: &'b mut Vec<u8>) -> PackedFlow<&'b [u8]> {
        self.put_key(buffer, |out| out.extend_from_slice(self.entries));
        buffer.extend_from_slice(self.instructions);
        PackedFlow::borrowed(buffer)
    }

    /// The flow as we would write it, in `buffer`.
    ///
    /// # Errors
    /// If it breaks the format.
    pub fn packed<'b>(&self, buffer: &'b mut Vec<u8>) -> Result<PackedFlow<&'b [u8]>, DecodeError> {
        let matching = entries_from(&mut Reader::new(self.entries, "match"))?;
        self.put_key(buffer, |out| put_entries(out, &matching));
        let (actions, goto) = instructions_from(&mut Reader::new(self.instructions, "flow description"))?;
        put_instructions(buffer, &actions, goto);
        Ok(PackedFlow::borrowed(buffer))
    }

    /// As a value.
    ///
    /// # Errors
    /// If it breaks the format.
    pub fn unpack(&self) -> Result<Flow, DecodeError> {
        self.unpack_entry().map(|entry| entry.flow)
    }

    /// As a value, with what it counted.
    ///
    /// # Errors
    /// If it breaks the format.
    pub fn unpack_entry(&self) -> Result<FlowEntry, DecodeError> {
        FlowEntry::read(&mut Reader::new(self.entry, "flow description"))
    }

    /// All but the instructions.
    fn put_key(&self, out: &mut Vec<u8>, put_entries: impl FnOnce(&mut Vec<u8>)) {
        let [table, _, first, second, middle @ .., a, b, c, d, e, f, g, h] = self.fixed;
        out.clear();
        put_u8(out, table);
        out.extend_from_slice(&[first, second]);
        put_u16(out, 0);
        let start = out.len();
        put_entries(out);
        set_length(out, start - 2, start);
        out.extend_from_slice(&[a, b, c, d, e, f, g, h]);
        out.extend_from_slice(&middle);
    }
}

impl<'a> GroupPart<'a> {
    fn read(_: &'a [u8], mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let wire_type = reader.u8()?;
        reader.skip(1)?;
        let id = GroupId(reader.u32()?);
        let length = usize::from(reader.u16()?);
        reader.skip(6)?;
        let buckets = reader.take(length)?;
        Ok(Self { id, kind: code_from(wire_type, &mut reader)?, buckets })
    }

    /// The group with its bytes in the order of a packed one, but as the switch wrote them, in `buffer`.
    pub fn as_sent<'b>(&self, buffer: &'b mut Vec<u8>) -> PackedGroup<&'b [u8]> {
        self.put_header(buffer);
        buffer.extend_from_slice(self.buckets);
        PackedGroup::borrowed(buffer)
    }

    /// The group as we would write it, in `buffer`.
    ///
    /// # Errors
    /// If it breaks the format.
    pub fn packed<'b>(&self, buffer: &'b mut Vec<u8>) -> Result<PackedGroup<&'b [u8]>, DecodeError> {
        self.put_header(buffer);
        let buckets = buckets_from(&mut Reader::new(self.buckets, "bucket"))?;
        buckets.iter().for_each(|bucket| put_bucket(buffer, bucket));
        Ok(PackedGroup::borrowed(buffer))
    }

    fn put_header(&self, out: &mut Vec<u8>) {
        out.clear();
        put_u32(out, self.id.0);
        put_u8(out, self.kind);
    }
}

#[cfg(test)]
mod tests {
    use antrea_types::OfPort;

    use super::*;
    use crate::message::{Counters, FlowStatistics, GroupStatistics, ReplyBody};
    use crate::{Action, Bucket, BucketId, FlowPriority, Group, GroupKind, Match, Message, Xid};

    fn reply(body: ReplyBody) -> Vec<u8> {
        let mut out = Vec::new();
        let reply = MultipartReply { more: More::Last, body };
        Message::MultipartReply(reply).encode(Xid(1), &mut out).unwrap();
        out
    }

    fn flow(port: u32) -> Flow {
        let mut flow = Flow::new(TableId(5), FlowPriority(200))
            .cookie(Cookie(7))
            .matching(Match::new().in_port(OfPort(port)))
            .action(Action::NORMAL);
        (flow.idle_timeout, flow.hard_timeout, flow.importance) = (1, 2, 3);
        flow
    }

    #[test]
    fn flows_of_a_reply_are_those_that_were_packed() {
        let statistics = FlowStatistics { packets: Some(7), bytes: Some(420), ..FlowStatistics::default() };
        let entries = [1, 2].map(|port| FlowEntry { flow: flow(port), statistics });
        let message = reply(ReplyBody::Flows(entries.to_vec()));
        let mut buffer = Vec::new();
        let parts: Vec<_> = flow_parts(&message).map(Result::unwrap).collect();
        assert_eq!(parts.len(), 2);
        assert_eq!(MultipartReply::is_more(&message), Some(More::Last));
        for (part, port) in parts.iter().zip(1..) {
            let expected = PackedFlow::new(&flow(port), &mut Vec::new());
            assert_eq!(part.as_sent(&mut buffer).bytes(), expected.bytes());
            assert_eq!(part.packed(&mut buffer).unwrap().bytes(), expected.bytes());
            assert_eq!((part.table(), part.cookie()), (TableId(5), Cookie(7)));
            assert_eq!(part.unpack().unwrap(), flow(port));
            assert_eq!(part.unpack_entry().unwrap(), FlowEntry { flow: flow(port), statistics });
        }
    }

    #[test]
    fn groups_of_a_reply_are_those_that_were_packed() {
        let bucket = Bucket::new(BucketId(3), vec![Action::NORMAL]).weight(2);
        let group = Group { id: GroupId(9), kind: GroupKind::Select, buckets: vec![bucket] };
        let message = reply(ReplyBody::Groups(vec![group.clone(), group.clone()]));
        let expected = PackedGroup::new(&group, &mut Vec::new());
        let mut buffer = Vec::new();
        for part in group_parts(&message).map(Result::unwrap) {
            assert_eq!(part.as_sent(&mut buffer).bytes(), expected.bytes());
            assert_eq!(part.packed(&mut buffer).unwrap().bytes(), expected.bytes());
        }
        assert_eq!(group_parts(&message).count(), 2);
    }

    #[test]
    fn statistics_of_groups_say_how_many_buckets_they_have() {
        let statistics = |id, buckets| GroupStatistics {
            id: GroupId(id),
            references: 1,
            total: Counters::default(),
            duration: std::time::Duration::ZERO,
            buckets: vec![Counters::default(); buckets],
        };
        let message = reply(ReplyBody::GroupStatistics(vec![statistics(7, 0), statistics(9, 3)]));
        let sizes: Vec<_> = group_sizes(&message).map(Result::unwrap).collect();
        assert_eq!(sizes, [(GroupId(7), 0), (GroupId(9), 3)]);
    }

    #[test]
    fn an_entry_that_breaks_the_format_is_the_last() {
        let statistics = FlowStatistics::default();
        let entries = [1, 2].map(|port| FlowEntry { flow: flow(port), statistics });
        let message = reply(ReplyBody::Flows(entries.to_vec()));
        for end in 0..message.len() {
            let parts = flow_parts(&message[..end]).filter(Result::is_err).count();
            assert!(parts <= 1 && group_parts(&message[..end]).take(9).count() < 9, "{end}");
        }
    }
}
