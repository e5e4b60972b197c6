//! What a bundle is made of.

use std::fmt;
use std::iter::Peekable;

use antrea_openflow::message::{BundleAdd, BundleFlags};
use antrea_openflow::{
    BundleId, FlowMod, GroupMod, Message, PackedChange, PackedFlow, PackedGroup, TooLong, Xid,
};

use crate::openflow::BUNDLE_LIMIT;

/// What the messages of a bundle take before the next one is begun: they are in memory here and at the switch.
const BUNDLE_BYTES: usize = 2 << 20;

/// A member of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Modification {
    /// Adds a flow, in place of one with the same key.
    AddFlow(PackedFlow),
    /// Deletes the flow with this key.
    DeleteFlow(PackedFlow),
    /// Adds or replaces a group. A group of many buckets takes several messages, which are in one bundle, so that no
    /// packet sees a part of it.
    InstallGroup(PackedGroup),
    /// Any change of flows.
    Flow(Box<FlowMod>),
    /// Any change of a group.
    Group(Box<GroupMod>),
}

impl From<FlowMod> for Modification {
    fn from(change: FlowMod) -> Self {
        Self::Flow(Box::new(change))
    }
}

impl From<GroupMod> for Modification {
    fn from(change: GroupMod) -> Self {
        Self::Group(Box::new(change))
    }
}

impl Modification {
    /// How many messages it takes.
    pub fn messages(&self) -> usize {
        match self {
            Self::InstallGroup(group) => group.messages(),
            _ => 1,
        }
    }

    /// About what its messages take.
    fn size(&self) -> Size {
        const HEADERS: usize = 80;
        let bytes = match self {
            Self::AddFlow(flow) => flow.bytes().len(),
            Self::DeleteFlow(flow) => flow.key().len(),
            Self::InstallGroup(group) => group.bytes().len(),
            Self::Flow(_) | Self::Group(_) => 0,
        };
        Size { messages: self.messages(), bytes: bytes + HEADERS }
    }

    /// Appends the messages that add it to a bundle, and returns the transaction after them.
    pub(crate) fn put(
        &self,
        bundle: (BundleId, BundleFlags),
        first: Xid,
        out: &mut Vec<u8>,
    ) -> Result<Xid, TooLong> {
        let message = match self {
            Self::AddFlow(flow) => return PackedChange::AddFlow(flow).put_in_bundle(bundle, first, out),
            Self::DeleteFlow(flow) => {
                return PackedChange::DeleteFlow(flow).put_in_bundle(bundle, first, out);
            }
            Self::InstallGroup(group) => {
                return PackedChange::InstallGroup(group).put_in_bundle(bundle, first, out);
            }
            Self::Flow(change) => Message::FlowMod(FlowMod::clone(change)),
            Self::Group(change) => Message::GroupMod(GroupMod::clone(change)),
        };
        let (id, flags) = bundle;
        Message::BundleAdd(BundleAdd { id, flags, message: Box::new(message) }).encode(first, out)?;
        Ok(Xid(first.0.wrapping_add(1)))
    }
}

/// As `ovs-ofctl` prints a flow; of a group its number.
impl fmt::Display for Modification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddFlow(flow) => match flow.unpack() {
                Ok(flow) => write!(f, "flow {}", FlowMod::add(flow)),
                Err(_) => write!(f, "a flow of table {}", flow.table()),
            },
            Self::DeleteFlow(flow) => match flow.unpack() {
                Ok(flow) => {
                    write!(f, "flow {}", FlowMod::delete_strict(flow.table, flow.priority, flow.matching))
                }
                Err(_) => write!(f, "a flow of table {}", flow.table()),
            },
            Self::InstallGroup(group) => write!(f, "group {}", group.id()),
            Self::Flow(flow) => write!(f, "flow {flow}"),
            Self::Group(group) => write!(f, "group {}", group.id()),
        }
    }
}

/// What members of a bundle take together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) messages: usize,
    bytes: usize,
}

impl Size {
    /// Of all of these.
    pub(crate) fn of(members: &[Modification]) -> Self {
        members.iter().fold(Self::default(), |size, member| size.and(member.size()))
    }

    /// Both.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self { messages: self.messages + other.messages, bytes: self.bytes + other.bytes }
    }

    /// Whether this is no more than `messages`, nor more bytes than a bundle of several shall have.
    pub(crate) const fn fits(self, messages: usize) -> bool {
        self.messages <= messages && self.bytes <= BUNDLE_BYTES
    }
}

/// Takes as many members as go into one bundle; one at least if there are any.
pub(crate) fn next_bundle(members: &mut Peekable<impl Iterator<Item = Modification>>) -> Vec<Modification> {
    let mut bundle = Vec::new();
    let mut size = Size::default();
    while let Some(member) =
        members.next_if(|member| bundle.is_empty() || size.and(member.size()).fits(BUNDLE_LIMIT))
    {
        size = size.and(member.size());
        bundle.push(member);
    }
    bundle
}

#[cfg(test)]
mod tests {
    use antrea_openflow::{Action, Bucket, BucketId, Flow, FlowPriority, Group, GroupId, GroupKind, TableId};

    use super::*;

    fn flow() -> Modification {
        Modification::AddFlow(PackedFlow::new(&Flow::new(TableId(0), FlowPriority(1)), &mut Vec::new()))
    }

    fn group(buckets: u32) -> Modification {
        let bucket = |id| Bucket::new(BucketId(id), vec![Action::NORMAL]);
        let group =
            Group { id: GroupId(1), kind: GroupKind::All, buckets: (0..buckets).map(bucket).collect() };
        Modification::InstallGroup(PackedGroup::new(&group, &mut Vec::new()))
    }

    fn sizes(members: Vec<Modification>) -> Vec<usize> {
        let mut members = members.into_iter().peekable();
        std::iter::from_fn(|| Some(next_bundle(&mut members).len()).filter(|size| *size > 0)).collect()
    }

    #[test]
    fn bundles_end_at_their_limit_of_messages() {
        assert_eq!(sizes(vec![flow(); 2 * BUNDLE_LIMIT + 1]), [BUNDLE_LIMIT, BUNDLE_LIMIT, 1]);
    }

    #[test]
    fn the_messages_of_a_group_are_not_split_over_two_bundles() {
        let members = [vec![flow(); BUNDLE_LIMIT - 1], vec![group(701)]].concat();
        assert_eq!(sizes(members), [BUNDLE_LIMIT - 1, 1]);
    }

    #[test]
    fn bundles_of_much_end_before_they_are_large() {
        // Each takes 720 KB.
        assert_eq!(sizes(vec![group(30_000); 5]), [2, 2, 1]);
    }
}
