//! The `learn` action: flows that OVS makes from packets (`ovs-actions(7)`).

use crate::{Cookie, Field, FlowPriority, SubField, TableId};

/// Adds a flow to `table`, or refreshes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Learn {
    /// Where to.
    pub table: TableId,
    /// The new flow's priority.
    pub priority: FlowPriority,
    /// The new flow's cookie.
    pub cookie: Cookie,
    /// Seconds without packets after which it goes; 0 never.
    pub idle_timeout: u16,
    /// Seconds after which it goes; 0 never.
    pub hard_timeout: u16,
    /// The idle timeout that FIN or RST lowers it to; 0 leaves it.
    pub fin_idle_timeout: u16,
    /// The hard timeout that FIN or RST lowers it to; 0 leaves it.
    pub fin_hard_timeout: u16,
    /// More of its behaviour.
    pub flags: LearnFlags,
    /// As many flows with this cookie the table may have: what would be one more is not learned. 0 is without limit.
    pub limit: u32,
    /// What it matches and does.
    pub specs: Vec<LearnSpec>,
}

/// Flags of a learned flow (`NX_LEARN_F_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LearnFlags(u16);

impl LearnFlags {
    /// Tells the controller when it goes.
    pub const SEND_FLOW_REMOVED: Self = Self(1);
    /// Goes with the flow that learned it.
    pub const DELETE_LEARNED: Self = Self(2);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    /// From the bits on the wire; none if there are others among them.
    pub(crate) const fn from_bits(bits: u16) -> Option<Self> {
        let flags = Self(bits);
        if Self::SEND_FLOW_REMOVED.and(Self::DELETE_LEARNED).has(flags) { Some(flags) } else { None }
    }
}

/// A part of what the learned flow matches or does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LearnSpec {
    /// Matches in the first what the packet has in the second.
    MatchField(SubField, SubField),
    /// Matches a value.
    MatchValue(SubField, u128),
    /// Loads into the first what the packet has in the second.
    LoadField(SubField, SubField),
    /// Loads a value.
    LoadValue(SubField, u128),
    /// Outputs to the port in a field of the packet.
    Output(SubField),
}

impl LearnSpec {
    /// Matches what the packet has in the same field.
    pub const fn same(field: Field) -> Self {
        Self::MatchField(SubField::whole(field), SubField::whole(field))
    }

    /// Matches a value in a whole field.
    pub fn matching(field: Field, value: impl Into<u128>) -> Self {
        Self::MatchValue(SubField::whole(field), value.into())
    }

    /// Loads what the packet has in the same bits.
    pub const fn keep(bits: SubField) -> Self {
        Self::LoadField(bits, bits)
    }
}
