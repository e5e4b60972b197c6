//! Members of bundles, written from packed flows and groups.

use super::{PackedFlow, PackedGroup};
use crate::codec::error::TooLong;
use crate::codec::group::{command, put_properties, wire_type};
use crate::codec::writer::{put_u8, put_u16, put_u32, put_zeros, set_length};
use crate::flow_mod::FlowCommand;
use crate::message::{BundleFlags, HEADER_LENGTH, VERSION};
use crate::{BucketId, BundleId, Xid};

/// `OFPT_FLOW_MOD`.
const FLOW_MOD: u8 = 14;
/// `OFPT_GROUP_MOD`.
const GROUP_MOD: u8 = 15;
/// `OFPT_BUNDLE_ADD_MESSAGE`.
const BUNDLE_ADD: u8 = 34;

/// A change that is written from bytes.
#[derive(Clone, Copy, Debug)]
pub enum PackedChange<'a> {
    /// Adds a flow, in place of one with the same key.
    AddFlow(&'a PackedFlow),
    /// Deletes the flow with this key, whatever its cookie.
    DeleteFlow(&'a PackedFlow),
    /// Adds or replaces a group, in as many messages as its buckets take.
    InstallGroup(&'a PackedGroup),
}

impl PackedChange<'_> {
    /// Appends the messages that add this to a bundle, the first of them of transaction `first`. Returns the transaction
    /// after the last.
    ///
    /// # Errors
    /// If one of them is too long for OpenFlow.
    pub fn put_in_bundle(
        self,
        (bundle, flags): (BundleId, BundleFlags),
        first: Xid,
        out: &mut Vec<u8>,
    ) -> Result<Xid, TooLong> {
        let mut xid = first;
        let mut add = |kind: u8, write: &dyn Fn(&mut Vec<u8>)| {
            put_in_bundle(out, (bundle, flags), xid, kind, write)?;
            xid = Xid(xid.0.wrapping_add(1));
            Ok(())
        };
        match self {
            Self::AddFlow(flow) => add(FLOW_MOD, &|out| flow.put_flow_mod(out, FlowCommand::Add))?,
            Self::DeleteFlow(flow) => {
                add(FLOW_MOD, &|out| flow.put_flow_mod(out, FlowCommand::DeleteStrict))?;
            }
            Self::InstallGroup(group) => {
                let commands = std::iter::once((command::ADD_OR_MODIFY, BucketId::ALL))
                    .chain(std::iter::repeat((command::INSERT_BUCKET, BucketId::LAST)));
                for (part, (command, bucket)) in group.parts().zip(commands) {
                    add(GROUP_MOD, &|out| put_group_mod(out, group, command, bucket, part))?;
                }
            }
        }
        Ok(xid)
    }
}

fn put_group_mod(out: &mut Vec<u8>, group: &PackedGroup, command: u16, bucket: BucketId, buckets: &[u8]) {
    put_u16(out, command);
    put_u8(out, wire_type(group.kind_code()));
    put_zeros(out, 1);
    put_u32(out, group.id().0);
    put_u16(out, u16::try_from(buckets.len()).unwrap_or(u16::MAX));
    put_zeros(out, 2);
    put_u32(out, bucket.0);
    out.extend_from_slice(buckets);
    if command == command::ADD_OR_MODIFY {
        put_properties(out, group.kind_code());
    }
}

/// A message inside of the one that adds it to a bundle; both have the same transaction.
fn put_in_bundle(
    out: &mut Vec<u8>,
    (bundle, flags): (BundleId, BundleFlags),
    xid: Xid,
    kind: u8,
    write: &dyn Fn(&mut Vec<u8>),
) -> Result<(), TooLong> {
    let outer = out.len();
    put_header(out, BUNDLE_ADD, xid);
    put_u32(out, bundle.0);
    put_zeros(out, 2);
    put_u16(out, flags.bits());
    let inner = out.len();
    put_header(out, kind, xid);
    write(out);
    let length = out.len() - outer;
    if length > usize::from(u16::MAX) {
        out.truncate(outer);
        return Err(TooLong { what: "bundle add", length });
    }
    set_length(out, inner + 2, inner);
    set_length(out, outer + 2, outer);
    Ok(())
}

fn put_header(out: &mut Vec<u8>, kind: u8, xid: Xid) {
    let start = out.len();
    out.extend([VERSION, kind]);
    put_zeros(out, HEADER_LENGTH - 6);
    put_u32(out, xid.0);
    debug_assert_eq!(out.len() - start, HEADER_LENGTH);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::BundleAdd;
    use crate::{
        Action, Bucket, Flow, FlowMod, FlowPriority, Group, GroupId, GroupKind, GroupMod, Match, Message,
        TableId,
    };

    const BUNDLE: (BundleId, BundleFlags) = (BundleId(3), BundleFlags::ATOMIC.and(BundleFlags::ORDERED));

    /// What the values say in the same bundle.
    fn expected(messages: Vec<Message>) -> Vec<u8> {
        let mut out = Vec::new();
        for (message, xid) in messages.into_iter().zip(9..) {
            let add = BundleAdd { id: BUNDLE.0, flags: BUNDLE.1, message: Box::new(message) };
            Message::BundleAdd(add).encode(Xid(xid), &mut out).unwrap();
        }
        out
    }

    #[test]
    fn what_is_packed_is_sent_as_the_values_are() {
        let flow = Flow::new(TableId(3), FlowPriority(7))
            .matching(Match::new().ip_dst("10.0.0.1/32".parse::<ipnet::IpNet>().unwrap()));
        let packed = PackedFlow::new(&flow, &mut Vec::new());
        let delete = FlowMod::delete_strict(flow.table, flow.priority, flow.matching.clone());
        let bucket = |id| Bucket::new(BucketId(id), vec![Action::resubmit(TableId(1))]).weight(1);
        let group =
            Group { id: GroupId(1), kind: GroupKind::Select, buckets: (0..1500).map(bucket).collect() };
        let packed_group = PackedGroup::new(&group, &mut Vec::new());
        let mut out = Vec::new();
        let mut xid = Xid(9);
        for change in [
            PackedChange::AddFlow(&packed),
            PackedChange::DeleteFlow(&packed),
            PackedChange::InstallGroup(&packed_group),
        ] {
            xid = change.put_in_bundle(BUNDLE, xid, &mut out).unwrap();
        }
        let flows = [FlowMod::add(flow), delete].map(Message::FlowMod).into_iter();
        let part = |buckets| Group { buckets, ..group.clone() };
        let buckets = |range| group.buckets.get::<std::ops::Range<usize>>(range).unwrap().to_vec();
        let more = |range| GroupMod::InsertBuckets { group: part(buckets(range)), after: BucketId::LAST };
        let groups = [GroupMod::AddOrModify(part(buckets(0..700))), more(700..1400), more(1400..1500)];
        let groups = groups.map(Message::GroupMod);
        assert_eq!((out, xid), (expected(flows.chain(groups).collect()), Xid(14)));
    }

    #[test]
    fn what_is_too_long_is_not_written() {
        let ports = (0..9000).map(|port| Action::Output(antrea_types::OfPort(port)));
        let flow = Flow::new(TableId(0), FlowPriority(1)).actions(ports);
        let packed = PackedFlow::new(&flow, &mut Vec::new());
        let mut out = vec![1];
        PackedChange::AddFlow(&packed).put_in_bundle(BUNDLE, Xid(1), &mut out).unwrap_err();
        assert_eq!(out, [1]);
    }
}
