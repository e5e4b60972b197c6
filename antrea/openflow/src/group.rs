//! Groups: sets of buckets of which a packet goes through one or all.

use std::fmt;

use antrea_types::OfPort;

use crate::action_text::write_actions;
use crate::names::{Names, Numbers, write_port};
use crate::{Action, BucketId, GroupId};

/// As many buckets as fit into one message whatever they do within reason (OpenFlow messages end at 65,535 bytes).
pub const BUCKETS_PER_MESSAGE: usize = 700;

/// A group, as it is wanted or as it is on the bridge.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Group {
    /// Its number.
    pub id: GroupId,
    /// Which buckets a packet goes through.
    pub kind: GroupKind,
    /// The buckets.
    pub buckets: Vec<Bucket>,
}

/// Which buckets of a group a packet goes through (OpenFlow 1.5 §7.3.4.2, `OFPGT_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupKind {
    /// All, each with a copy.
    All,
    /// One, chosen by weight.
    Select,
    /// One, chosen by weight and by the connection: its addresses, protocol and ports. By itself (`Select`), Open
    /// vSwitch leaves the ports of UDP out.
    SelectByConnection,
    /// The only one.
    Indirect,
    /// The first live one.
    FastFailover,
}

/// A bucket of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bucket {
    /// Its number, in its group once.
    pub id: BucketId,
    /// Its share of the packets, in groups of kind `Select`.
    pub weight: Option<u16>,
    /// The port that it lives by.
    pub watch_port: Option<OfPort>,
    /// The group that it lives by.
    pub watch_group: Option<GroupId>,
    /// What it does.
    pub actions: Vec<Action>,
}

impl Bucket {
    /// A bucket without weight.
    pub const fn new(id: BucketId, actions: Vec<Action>) -> Self {
        Self { id, weight: None, watch_port: None, watch_group: None, actions }
    }

    /// With this share of the packets.
    #[must_use]
    pub const fn weight(mut self, weight: u16) -> Self {
        self.weight = Some(weight);
        self
    }
}

/// A change to a group (OpenFlow 1.5 §7.3.4.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupMod {
    /// Adds a group; an error if it is there.
    Add(Group),
    /// Replaces a group; an error if it is not there.
    Modify(Group),
    /// Adds or replaces a group (OVS's `OFPGC11_ADD_OR_MOD`).
    AddOrModify(Group),
    /// Deletes a group, or all with [`GroupId::ALL`], and the flows that use it.
    Delete(GroupId),
    /// Adds buckets to a group before those it has, after one of them, or at the end.
    InsertBuckets {
        /// The group, with the buckets to add.
        group: Group,
        /// The bucket after which they go, or [`BucketId::FIRST`] or [`BucketId::LAST`].
        after: BucketId,
    },
    /// Removes a bucket, or [`BucketId::FIRST`], [`BucketId::LAST`], [`BucketId::ALL`].
    RemoveBucket {
        /// The group.
        group: GroupId,
        /// Its kind.
        kind: GroupKind,
        /// The bucket.
        bucket: BucketId,
    },
}

impl GroupMod {
    /// The group that is changed.
    pub const fn id(&self) -> GroupId {
        match self {
            Self::Add(group)
            | Self::Modify(group)
            | Self::AddOrModify(group)
            | Self::InsertBuckets { group, .. } => group.id,
            Self::Delete(id) | Self::RemoveBucket { group: id, .. } => *id,
        }
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all",
            Self::Select => "select",
            Self::SelectByConnection => "select,selection_method=dp_hash",
            Self::Indirect => "indirect",
            Self::FastFailover => "ff",
        })
    }
}

/// A group with names for tables and ports.
pub struct GroupText<'a> {
    group: &'a Group,
    names: &'a dyn Names,
}

impl Group {
    /// The text with names of tables and ports, as a line of `ovs-ofctl dump-groups`.
    pub fn display<'a>(&'a self, names: &'a dyn Names) -> GroupText<'a> {
        GroupText { group: self, names }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display(&Numbers).fmt(f)
    }
}

impl fmt::Display for GroupText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group_id={},type={}", self.group.id, self.group.kind)?;
        self.group.buckets.iter().try_for_each(|bucket| write_bucket(f, bucket, self.names))
    }
}

/// `,bucket=…`.
pub(crate) fn write_bucket(f: &mut fmt::Formatter<'_>, bucket: &Bucket, names: &dyn Names) -> fmt::Result {
    write!(f, ",bucket=bucket_id:{},", bucket.id)?;
    if let Some(weight) = bucket.weight {
        write!(f, "weight:{weight},")?;
    }
    if let Some(port) = bucket.watch_port {
        f.write_str("watch_port:")?;
        write_port(f, port, names)?;
        f.write_str(",")?;
    }
    if let Some(group) = bucket.watch_group {
        write!(f, "watch_group:{group},")?;
    }
    f.write_str("actions=")?;
    write_actions(f, &bucket.actions, names)
}
