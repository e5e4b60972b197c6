//! Requests for state (OpenFlow 1.5 §7.3.5).

use antrea_types::OfPort;

use super::TableFeatures;
use crate::codec::error::DecodeError;
use crate::codec::oxm::{match_from, put_match};
use crate::codec::reader::Reader;
use crate::codec::writer::{put_u8, put_u16, put_u32, put_u64, put_zeros};
use crate::names::reserved_port;
use crate::{Cookie, CookieMask, GroupId, Match, MeterId, TableId};

/// Types of state (`OFPMP_*`).
pub(super) mod kind {
    pub(crate) const DESCRIPTION: u16 = 0;
    pub(crate) const FLOWS: u16 = 1;
    pub(crate) const AGGREGATE: u16 = 2;
    pub(crate) const PORT_STATISTICS: u16 = 4;
    pub(crate) const GROUP_STATISTICS: u16 = 6;
    pub(crate) const GROUPS: u16 = 7;
    pub(crate) const METER_STATISTICS: u16 = 9;
    pub(crate) const METERS: u16 = 10;
    pub(crate) const TABLE_FEATURES: u16 = 12;
    pub(crate) const PORTS: u16 = 13;
}

/// Whether more messages with the same transaction follow (`OFPMPF_*_MORE`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum More {
    /// This is the last.
    #[default]
    Last,
    /// There are more.
    More,
}

impl More {
    pub(super) const fn code(self) -> u16 {
        match self {
            Self::Last => 0,
            Self::More => 1,
        }
    }

    pub(super) const fn from_code(code: u16) -> Self {
        if code & 1 == 1 { Self::More } else { Self::Last }
    }
}

/// Which flows are meant: those that are in the table, match and more, and have these bits in the cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowFilter {
    /// The table, or [`TableId::ALL`].
    pub table: TableId,
    /// The port they output to, or [`reserved_port::ANY`].
    pub out_port: OfPort,
    /// The group they use, or [`GroupId::ANY`].
    pub out_group: GroupId,
    /// The cookie.
    pub cookie: Cookie,
    /// The bits of the cookie that matter.
    pub cookie_mask: CookieMask,
    /// What they match at least.
    pub matching: Match,
}

impl FlowFilter {
    /// All flows of a table, or of all.
    pub const fn table(table: TableId) -> Self {
        Self {
            table,
            out_port: reserved_port::ANY,
            out_group: GroupId::ANY,
            cookie: Cookie(0),
            cookie_mask: CookieMask::ANY,
            matching: Match::new(),
        }
    }

    /// All flows with these bits in the cookie.
    pub fn cookie(cookie: Cookie, cookie_mask: CookieMask) -> Self {
        Self { cookie, cookie_mask, ..Self::table(TableId::ALL) }
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_u8(out, self.table.0);
        put_zeros(out, 3);
        put_u32(out, self.out_port.0);
        put_u32(out, self.out_group.0);
        put_zeros(out, 4);
        put_u64(out, self.cookie.0);
        put_u64(out, self.cookie_mask.0);
        put_match(out, &self.matching);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table = TableId(reader.u8()?);
        reader.skip(3)?;
        let (out_port, out_group) = (OfPort(reader.u32()?), GroupId(reader.u32()?));
        reader.skip(4)?;
        let (cookie, cookie_mask) = (Cookie(reader.u64()?), CookieMask(reader.u64()?));
        Ok(Self { table, out_port, out_group, cookie, cookie_mask, matching: match_from(reader)? })
    }
}

/// A request for state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultipartRequest {
    /// What the switch is.
    Description,
    /// Flows with their statistics.
    Flows(FlowFilter),
    /// The sums of flows' statistics.
    Aggregate(FlowFilter),
    /// What a port counted, or all with [`reserved_port::ANY`].
    PortStatistics(OfPort),
    /// What a group counted, or all with [`GroupId::ALL`].
    GroupStatistics(GroupId),
    /// A group, or all with [`GroupId::ALL`].
    Groups(GroupId),
    /// What a meter counted, or all with [`MeterId::ALL`].
    MeterStatistics(MeterId),
    /// A meter, or all with [`MeterId::ALL`].
    Meters(MeterId),
    /// A port, or all with [`reserved_port::ANY`].
    Ports(OfPort),
    /// The features of all tables; or sets those that are given.
    TableFeatures(Vec<TableFeatures>),
    /// Another request: its type and what follows.
    Unknown {
        /// `OFPMP_*`.
        kind: u16,
        /// What follows the multipart header.
        body: Vec<u8>,
    },
}

impl MultipartRequest {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_u16(out, self.kind());
        put_u16(out, More::Last.code());
        put_zeros(out, 4);
        match self {
            Self::Description => {}
            Self::Flows(filter) | Self::Aggregate(filter) => filter.put(out),
            Self::GroupStatistics(GroupId(id))
            | Self::Groups(GroupId(id))
            | Self::MeterStatistics(MeterId(id))
            | Self::Meters(MeterId(id))
            | Self::PortStatistics(OfPort(id))
            | Self::Ports(OfPort(id)) => {
                put_u32(out, *id);
                put_zeros(out, 4);
            }
            Self::TableFeatures(tables) => tables.iter().for_each(|table| table.put(out)),
            Self::Unknown { body, .. } => out.extend(body),
        }
    }

    const fn kind(&self) -> u16 {
        match self {
            Self::Description => kind::DESCRIPTION,
            Self::Flows(_) => kind::FLOWS,
            Self::Aggregate(_) => kind::AGGREGATE,
            Self::PortStatistics(_) => kind::PORT_STATISTICS,
            Self::GroupStatistics(_) => kind::GROUP_STATISTICS,
            Self::Groups(_) => kind::GROUPS,
            Self::MeterStatistics(_) => kind::METER_STATISTICS,
            Self::Meters(_) => kind::METERS,
            Self::Ports(_) => kind::PORTS,
            Self::TableFeatures(_) => kind::TABLE_FEATURES,
            Self::Unknown { kind, .. } => *kind,
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let kind = reader.u16()?;
        reader.skip(6)?;
        Ok(match kind {
            kind::DESCRIPTION => Self::Description,
            kind::FLOWS => Self::Flows(FlowFilter::read(reader)?),
            kind::AGGREGATE => Self::Aggregate(FlowFilter::read(reader)?),
            kind::PORT_STATISTICS => Self::PortStatistics(OfPort(reader.u32()?)),
            kind::GROUP_STATISTICS => Self::GroupStatistics(GroupId(reader.u32()?)),
            kind::GROUPS => Self::Groups(GroupId(reader.u32()?)),
            kind::METER_STATISTICS => Self::MeterStatistics(MeterId(reader.u32()?)),
            kind::METERS => Self::Meters(MeterId(reader.u32()?)),
            kind::PORTS => Self::Ports(OfPort(reader.u32()?)),
            kind::TABLE_FEATURES => Self::TableFeatures(all_from(reader, TableFeatures::read)?),
            _ => Self::Unknown { kind, body: reader.rest().to_vec() },
        })
    }
}

/// Reads entries to the end. Every entry takes bytes, or is an error.
pub(super) fn all_from<T>(
    reader: &mut Reader<'_>,
    read: impl Fn(&mut Reader<'_>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let mut all = Vec::new();
    while !reader.is_empty() {
        all.push(read(reader)?);
    }
    Ok(all)
}
