//! What a flow does to packets.
//!
//! Actions that OVS may give us back but we never send are kept as bytes, so that any flow can be read, compared and
//! deleted.

use antrea_types::OfPort;

use crate::match_packet::mac_bits;
use crate::names::reserved_port;
use crate::{Controller, CtCommit, CtLookup, Field, GroupId, Learn, MeterId, SubField, TableId};

/// One action. A flow without actions drops.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Sends the packet out of a port, or to a reserved one ([`reserved_port`]).
    Output(OfPort),
    /// Sends the packet out of the port that a field names.
    OutputField(SubField),
    /// Writes bits of a field.
    SetField(SetField),
    /// Copies bits of one field into another.
    Move(Move),
    /// Looks the packet up again, then goes on here.
    Resubmit(Resubmit),
    /// Goes through a group.
    Group(GroupId),
    /// Drops the packet if it exceeds a rate.
    Meter(MeterId),
    /// Sends the packet to a controller (`NXAST_CONTROLLER2`).
    Controller(Box<Controller>),
    /// Tracks the connection without committing it.
    CtLookup(CtLookup),
    /// Tracks the connection and commits it.
    CtCommit(Box<CtCommit>),
    /// Forgets what `ct` found.
    CtClear,
    /// Adds a flow made from the packet.
    Learn(Box<Learn>),
    /// One clause of a conjunctive match.
    Conjunction(Conjunction),
    /// Adds a tag of this ethertype.
    PushVlan(u16),
    /// Removes the outermost tag.
    PopVlan,
    /// Decrements the hop limit.
    DecTtl,
    /// Does nothing; carries bytes. On the wire their number is filled up with zeros to six more than a multiple of eight.
    Note(Vec<u8>),
    /// An action of another kind, as it stands on the wire.
    Foreign(Vec<u8>),
    /// An instruction other than `apply_actions` and `goto_table`, as it stands on the wire.
    ForeignInstruction(Vec<u8>),
}

/// Writes `value` into the bits of `mask` in `field`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetField {
    /// The field.
    pub field: Field,
    /// The bits to write, zero where the mask is.
    pub value: u128,
    /// The bits to be written.
    pub mask: u128,
}

/// Copies `source` to `destination`, which are of the same width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Move {
    pub(crate) source: SubField,
    pub(crate) destination: SubField,
}

impl Move {
    /// None if the widths differ.
    pub const fn new(source: SubField, destination: SubField) -> Option<Self> {
        if source.bits() == destination.bits() { Some(Self { source, destination }) } else { None }
    }

    /// Where from.
    pub const fn source(self) -> SubField {
        self.source
    }

    /// Where to.
    pub const fn destination(self) -> SubField {
        self.destination
    }
}

/// Looks the packet up in another table, as if from another port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Resubmit {
    /// The port it shall seem to come from; none leaves it.
    pub port: Option<OfPort>,
    /// The table; none is that of the flow.
    pub table: Option<TableId>,
}

/// Clause `clause` (from 1) of the `of` clauses of conjunction `id` (`ovs-fields(7)`, "Conjunctive Match Fields").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Conjunction {
    /// What the flow with the action matches as `conj_id`.
    pub id: u32,
    /// From 1.
    pub clause: u8,
    /// From 2 to 64.
    pub of: u8,
}

/// Shorthands.
impl Action {
    /// Back out of the port that the packet came from.
    pub const IN_PORT: Self = Self::Output(reserved_port::IN_PORT);
    /// Through the learning switch in OVS.
    pub const NORMAL: Self = Self::Output(reserved_port::NORMAL);

    /// Writes a whole field.
    pub fn set(field: Field, value: impl Into<u128>) -> Self {
        Self::SetField(SetField { field, value: value.into() & field.full_mask(), mask: field.full_mask() })
    }

    /// Writes the bits of `mask` in `field`.
    pub fn set_masked(field: Field, value: u128, mask: u128) -> Self {
        let mask = mask & field.full_mask();
        Self::SetField(SetField { field, value: value & mask, mask })
    }

    /// Writes a range of bits, such as a register mark.
    pub fn load(range: SubField, value: impl Into<u128>) -> Self {
        Self::set_masked(range.field(), range.place(value.into()), range.mask())
    }

    /// Writes an Ethernet address.
    pub fn set_mac(field: Field, address: antrea_types::MacAddr) -> Self {
        Self::set(field, mac_bits(address))
    }

    /// Writes the outer destination of the tunnel that the packet will enter.
    pub fn set_tun_dst(address: std::net::IpAddr) -> Self {
        match address {
            std::net::IpAddr::V4(address) => Self::set(Field::TunDst, address.to_bits()),
            std::net::IpAddr::V6(address) => Self::set(Field::TunIpv6Dst, address.to_bits()),
        }
    }

    /// Copies bits; both ranges are of the same width.
    pub fn copy(source: SubField, destination: SubField) -> Option<Self> {
        Move::new(source, destination).map(Self::Move)
    }

    /// Looks the packet up in another table, then goes on here.
    pub const fn resubmit(table: TableId) -> Self {
        Self::Resubmit(Resubmit { port: None, table: Some(table) })
    }

    /// Clause `clause` (from 1) of `of`.
    pub const fn conjunction(id: u32, clause: u8, of: u8) -> Self {
        Self::Conjunction(Conjunction { id, clause, of })
    }
}

impl From<Learn> for Action {
    fn from(learn: Learn) -> Self {
        Self::Learn(Box::new(learn))
    }
}

impl From<CtLookup> for Action {
    fn from(lookup: CtLookup) -> Self {
        Self::CtLookup(lookup)
    }
}

impl From<CtCommit> for Action {
    fn from(commit: CtCommit) -> Self {
        Self::CtCommit(Box::new(commit))
    }
}
