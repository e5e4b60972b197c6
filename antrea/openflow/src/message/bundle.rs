//! Bundles: changes that are made all together or not at all (OpenFlow 1.5 §7.3.9).

use super::Message;
use crate::codec::error::{DecodeError, TooLong};
use crate::codec::reader::{Reader, bad_value};
use crate::codec::writer::{put_u16, put_u32, put_zeros};
use crate::{BundleId, Xid};

/// A step of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleControl {
    /// The bundle.
    pub id: BundleId,
    /// The step.
    pub step: BundleStep,
    /// The same in all messages of the bundle.
    pub flags: BundleFlags,
}

/// The steps, each a request and its reply (`OFPBCT_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleStep {
    /// Opens it.
    OpenRequest,
    /// It is open.
    OpenReply,
    /// Takes no more messages.
    CloseRequest,
    /// It is closed.
    CloseReply,
    /// Does what it says.
    CommitRequest,
    /// It is done.
    CommitReply,
    /// Forgets it.
    DiscardRequest,
    /// It is forgotten.
    DiscardReply,
}

impl BundleStep {
    const ALL: [Self; 8] = [
        Self::OpenRequest,
        Self::OpenReply,
        Self::CloseRequest,
        Self::CloseReply,
        Self::CommitRequest,
        Self::CommitReply,
        Self::DiscardRequest,
        Self::DiscardReply,
    ];

    const fn code(self) -> u16 {
        match self {
            Self::OpenRequest => 0,
            Self::OpenReply => 1,
            Self::CloseRequest => 2,
            Self::CloseReply => 3,
            Self::CommitRequest => 4,
            Self::CommitReply => 5,
            Self::DiscardRequest => 6,
            Self::DiscardReply => 7,
        }
    }
}

/// How a bundle is done (`OFPBF_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BundleFlags(u16);

impl BundleFlags {
    /// All or nothing, and no packet sees a part of it.
    pub const ATOMIC: Self = Self(1);
    /// In the order of the messages.
    pub const ORDERED: Self = Self(1 << 1);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits on the wire.
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }
}

impl BundleControl {
    pub(super) fn put(self, out: &mut Vec<u8>) {
        put_u32(out, self.id.0);
        put_u16(out, self.step.code());
        put_u16(out, self.flags.0);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let id = BundleId(reader.u32()?);
        let code = reader.u16()?;
        let step = BundleStep::ALL.get(usize::from(code)).copied().ok_or_else(|| reader.bad_value(code))?;
        Ok(Self { id, step, flags: BundleFlags(reader.u16()?) })
    }
}

/// A message of a bundle; it has the transaction of the message around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleAdd {
    /// The bundle.
    pub id: BundleId,
    /// The same in all messages of the bundle.
    pub flags: BundleFlags,
    /// A change of flows, a group, or a meter.
    pub message: Box<Message>,
}

impl BundleAdd {
    pub(super) fn put(&self, xid: Xid, out: &mut Vec<u8>) -> Result<(), TooLong> {
        put_u32(out, self.id.0);
        put_zeros(out, 2);
        put_u16(out, self.flags.0);
        self.message.encode(xid, out)
    }

    /// A bundle has no bundle in it: reading is not to nest without end.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        const TYPE_AT: usize = 1;
        const BUNDLE_ADD: u8 = 34;
        let id = BundleId(reader.u32()?);
        reader.skip(2)?;
        let flags = BundleFlags(reader.u16()?);
        let inner = reader.rest();
        if inner.get(TYPE_AT) == Some(&BUNDLE_ADD) {
            return Err(bad_value("message in a bundle", BUNDLE_ADD));
        }
        Ok(Self { id, flags, message: Box::new(Message::decode(inner)?.1) })
    }
}
