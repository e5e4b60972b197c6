//! Numbers that OpenFlow identifies its objects by, one type each.

use std::fmt;

macro_rules! number {
    ($(#[$documentation:meta])* $name:ident($inner:ty)) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl From<$inner> for $name {
            fn from(number: $inner) -> Self {
                Self(number)
            }
        }
    };
}

number!(
    /// A flow table: 0 to 254 (OpenFlow 1.5 §7.1, `OFPTT_*`).
    TableId(u8)
);

impl TableId {
    /// Every table, in requests that select flows (`OFPTT_ALL`).
    pub const ALL: Self = Self(255);
}

number!(
    /// A group (OpenFlow 1.5 §7.3.4.2).
    GroupId(u32)
);

impl GroupId {
    /// The largest number that a group may have (`OFPG_MAX`).
    pub const MAX: Self = Self(0xffff_ff00);
    /// Every group, in a deletion (`OFPG_ALL`).
    pub const ALL: Self = Self(0xffff_fffc);
    /// No group in particular, in requests that select flows or groups (`OFPG_ANY`).
    pub const ANY: Self = Self(0xffff_ffff);
}

number!(
    /// A meter, from 1 (OpenFlow 1.5 §7.3.4.4).
    MeterId(u32)
);

impl MeterId {
    /// Every meter, in a deletion or a request (`OFPM_ALL`).
    pub const ALL: Self = Self(0xffff_ffff);
}

number!(
    /// Pairs a request with its replies (OpenFlow 1.5 §7.1).
    Xid(u32)
);

number!(
    /// A transaction of flow, group and meter modifications (OpenFlow 1.5 §7.3.9).
    BundleId(u32)
);

number!(
    /// Which of the flows that match a packet wins: the largest (OpenFlow 1.5 §7.3.4.1).
    FlowPriority(u16)
);

impl FlowPriority {
    /// What a flow has that names none (`OFP_DEFAULT_PRIORITY`); text leaves it out.
    pub const DEFAULT: Self = Self(0x8000);
}

number!(
    /// A bucket of a group (OpenFlow 1.5 §7.3.4.3).
    BucketId(u32)
);

impl BucketId {
    /// The first bucket, in a group modification (`OFPG_BUCKET_FIRST`).
    pub const FIRST: Self = Self(0xffff_fffd);
    /// The last bucket, in a group modification (`OFPG_BUCKET_LAST`).
    pub const LAST: Self = Self(0xffff_fffe);
    /// All buckets, in a group modification (`OFPG_BUCKET_ALL`); what commands carry that have no use for a bucket.
    pub const ALL: Self = Self(0xffff_ffff);
}

/// The number a controller labels a flow with, printed in hexadecimal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cookie(pub u64);

impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl From<u64> for Cookie {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

/// The bits of a cookie that a request selects flows by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CookieMask(pub u64);

impl CookieMask {
    /// Any cookie.
    pub const ANY: Self = Self(0);
    /// One cookie.
    pub const EXACT: Self = Self(u64::MAX);
}
