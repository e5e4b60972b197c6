//! Replies with state, in one message or more (OpenFlow 1.5 §7.3.5).

use super::multipart::{all_from, kind};
use super::{
    AggregateStatistics, Description, FlowEntry, GroupStatistics, MeterStatistics, More, Port,
    PortStatistics, TableFeatures,
};
use crate::codec::error::DecodeError;
use crate::codec::group::{group_description_from, put_group_description};
use crate::codec::meter::{meter_description_from, put_meter_description};
use crate::codec::reader::Reader;
use crate::codec::writer::{put_u16, put_zeros};
use crate::{Group, Meter};

/// A reply, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultipartReply {
    /// Whether there are more parts.
    pub more: More,
    /// The state.
    pub body: ReplyBody,
}

/// State that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyBody {
    /// What the switch is.
    Description(Box<Description>),
    /// Flows.
    Flows(Vec<FlowEntry>),
    /// Sums over flows.
    Aggregate(AggregateStatistics),
    /// What ports counted.
    PortStatistics(Vec<PortStatistics>),
    /// What groups counted.
    GroupStatistics(Vec<GroupStatistics>),
    /// Groups.
    Groups(Vec<Group>),
    /// What meters counted.
    MeterStatistics(Vec<MeterStatistics>),
    /// Meters.
    Meters(Vec<Meter>),
    /// Ports.
    Ports(Vec<Port>),
    /// Tables.
    TableFeatures(Vec<TableFeatures>),
    /// Other state: its type and what follows.
    Unknown {
        /// `OFPMP_*`.
        kind: u16,
        /// What follows the multipart header.
        body: Vec<u8>,
    },
}

impl MultipartReply {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_u16(out, self.body.kind());
        put_u16(out, self.more.code());
        put_zeros(out, 4);
        self.body.put(out);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let kind = reader.u16()?;
        let more = More::from_code(reader.u16()?);
        reader.skip(4)?;
        Ok(Self { more, body: ReplyBody::read(kind, reader)? })
    }
}

impl ReplyBody {
    const fn kind(&self) -> u16 {
        match self {
            Self::Description(_) => kind::DESCRIPTION,
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

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Description(description) => description.put(out),
            Self::Flows(flows) => flows.iter().for_each(|flow| flow.put(out)),
            Self::Aggregate(sums) => sums.put(out),
            Self::PortStatistics(ports) => ports.iter().for_each(|port| port.put(out)),
            Self::GroupStatistics(groups) => groups.iter().for_each(|group| group.put(out)),
            Self::Groups(groups) => groups.iter().for_each(|group| put_group_description(out, group)),
            Self::MeterStatistics(meters) => meters.iter().for_each(|meter| meter.put(out)),
            Self::Meters(meters) => meters.iter().for_each(|meter| put_meter_description(out, meter)),
            Self::Ports(ports) => ports.iter().for_each(|port| port.put(out)),
            Self::TableFeatures(tables) => tables.iter().for_each(|table| table.put(out)),
            Self::Unknown { body, .. } => out.extend(body),
        }
    }

    fn read(kind: u16, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match kind {
            kind::DESCRIPTION => Self::Description(Box::new(Description::read(reader)?)),
            kind::FLOWS => Self::Flows(all_from(reader, FlowEntry::read)?),
            kind::AGGREGATE => Self::Aggregate(AggregateStatistics::read(reader)?),
            kind::PORT_STATISTICS => Self::PortStatistics(all_from(reader, PortStatistics::read)?),
            kind::GROUP_STATISTICS => Self::GroupStatistics(all_from(reader, GroupStatistics::read)?),
            kind::GROUPS => Self::Groups(all_from(reader, group_description_from)?),
            kind::METER_STATISTICS => Self::MeterStatistics(all_from(reader, MeterStatistics::read)?),
            kind::METERS => Self::Meters(all_from(reader, meter_description_from)?),
            kind::PORTS => Self::Ports(all_from(reader, Port::read)?),
            kind::TABLE_FEATURES => Self::TableFeatures(all_from(reader, TableFeatures::read)?),
            _ => Self::Unknown { kind, body: reader.rest().to_vec() },
        })
    }
}
