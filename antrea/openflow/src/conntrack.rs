//! Connection tracking: the `ct` action and its address translation (`ovs-actions(7)`).
//!
//! Translation without addresses exists for lookups only. On a commit it would leave the userspace datapath with a
//! connection whose replies are unknown, so there it cannot be expressed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{Action, SubField, TableId};

/// The zone that a connection is tracked in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Zone {
    /// A number.
    Number(u16),
    /// 16 bits of a field.
    Field(SubField),
}

impl From<u16> for Zone {
    fn from(number: u16) -> Self {
        Self::Number(number)
    }
}

impl From<SubField> for Zone {
    fn from(field: SubField) -> Self {
        Self::Field(field)
    }
}

/// `ct(zone=…,table=…)` and `ct(…,nat)`: finds the connection of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CtLookup {
    /// The zone.
    pub zone: Zone,
    /// Where a copy of the packet goes on with the connection's fields set; none leaves them unset here.
    pub table: Option<TableId>,
    /// Whether the packet is translated as its connection was.
    pub translate: Translate,
}

/// Whether a lookup translates packets of translated connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Translate {
    /// It leaves them.
    #[default]
    No,
    /// It does (`nat` without addresses).
    AsCommitted,
}

impl CtLookup {
    /// In `zone`.
    pub fn new(zone: impl Into<Zone>) -> Self {
        Self { zone: zone.into(), table: None, translate: Translate::No }
    }

    /// Goes on in `table`.
    #[must_use]
    pub const fn table(mut self, table: TableId) -> Self {
        self.table = Some(table);
        self
    }

    /// Translates packets of connections that were committed with translation.
    #[must_use]
    pub const fn nat(mut self) -> Self {
        self.translate = Translate::AsCommitted;
        self
    }
}

/// `ct(commit,…)`: remembers the connection of a packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CtCommit {
    /// The zone.
    pub zone: Zone,
    /// Where a copy of the packet goes on.
    pub table: Option<TableId>,
    /// What becomes of a connection that was committed in the other direction.
    pub existing: Existing,
    /// Translation of the connection from now on.
    pub nat: Option<Nat>,
    /// Writes to `ct_mark` and `ct_label`.
    pub exec: Vec<Action>,
    /// The protocol whose related connections are followed.
    pub helper: Option<Helper>,
}

/// What a commit does to a connection of the other direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Existing {
    /// Keeps it.
    #[default]
    Keep,
    /// Replaces it (`force`).
    Replace,
}

/// A protocol that opens connections beside its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Helper {
    /// FTP.
    Ftp,
    /// TFTP.
    Tftp,
}

impl CtCommit {
    /// In `zone`.
    pub fn new(zone: impl Into<Zone>) -> Self {
        Self {
            zone: zone.into(),
            table: None,
            existing: Existing::Keep,
            nat: None,
            exec: Vec::new(),
            helper: None,
        }
    }

    /// Goes on in `table`.
    #[must_use]
    pub const fn table(mut self, table: TableId) -> Self {
        self.table = Some(table);
        self
    }

    /// Translates.
    #[must_use]
    pub const fn nat(mut self, nat: Nat) -> Self {
        self.nat = Some(nat);
        self
    }

    /// Writes to the connection.
    #[must_use]
    pub fn exec(mut self, action: Action) -> Self {
        self.exec.push(action);
        self
    }
}

/// Translation of source or destination to an address, or to one of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nat {
    /// What is translated.
    pub side: NatSide,
    /// To what.
    pub addresses: AddressRange,
    /// To which ports, first and last; none leaves them where possible.
    pub ports: Option<(u16, u16)>,
    /// How one of a range is chosen.
    pub choice: NatChoice,
}

/// Which end of a connection is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NatSide {
    /// The source.
    Source,
    /// The destination.
    Destination,
}

/// First and last address of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AddressRange {
    /// IPv4.
    V4(Ipv4Addr, Ipv4Addr),
    /// IPv6.
    V6(Ipv6Addr, Ipv6Addr),
}

impl From<IpAddr> for AddressRange {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::V4(address, address),
            IpAddr::V6(address) => Self::V6(address, address),
        }
    }
}

/// How an address or port of a range is chosen: `NX_NAT_F_PERSISTENT`, `NX_NAT_F_PROTO_HASH`, `NX_NAT_F_PROTO_RANDOM`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NatChoice(u16);

impl NatChoice {
    /// As the datapath likes.
    pub const ANY: Self = Self(0);
    /// The same after a restart.
    pub const PERSISTENT: Self = Self(1 << 2);
    /// By a hash.
    pub const HASH: Self = Self(1 << 3);
    /// At random.
    pub const RANDOM: Self = Self(1 << 4);

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

    /// From the bits on the wire; none if there are others among them.
    pub(crate) const fn from_bits(bits: u16) -> Option<Self> {
        let choice = Self(bits);
        if Self::PERSISTENT.and(Self::HASH).and(Self::RANDOM).has(choice) { Some(choice) } else { None }
    }
}

impl Nat {
    /// Source to this address.
    pub fn source(address: IpAddr) -> Self {
        Self { side: NatSide::Source, addresses: address.into(), ports: None, choice: NatChoice::ANY }
    }

    /// Destination to this address.
    pub fn destination(address: IpAddr) -> Self {
        Self { side: NatSide::Destination, addresses: address.into(), ports: None, choice: NatChoice::ANY }
    }

    /// And to this port.
    #[must_use]
    pub const fn port(self, port: u16) -> Self {
        self.ports((port, port))
    }

    /// And to one of the ports from the first to the last.
    #[must_use]
    pub const fn ports(mut self, ports: (u16, u16)) -> Self {
        self.ports = Some(ports);
        self
    }
}
