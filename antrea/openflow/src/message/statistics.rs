//! What switches, groups and meters say of themselves and counted (OpenFlow 1.5 §7.3.5).

use std::time::Duration;

use super::FlowStatistics;
use super::flow_statistics::{duration_from, oxs_from, put_duration, put_oxs};
use super::multipart::all_from;
use super::port::text;
use crate::codec::error::DecodeError;
use crate::codec::reader::Reader;
use crate::codec::writer::{put_text, put_u32, put_u64, put_zeros, set_length};
use crate::{GroupId, MeterId};

/// What a switch says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Who made it.
    pub manufacturer: String,
    /// What it runs on.
    pub hardware: String,
    /// The version of OVS.
    pub software: String,
    /// Its serial number.
    pub serial: String,
    /// What an operator calls it.
    pub datapath: String,
}

const LONG_TEXT: usize = 256;
const SERIAL_TEXT: usize = 32;

impl Description {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_text(out, &self.manufacturer, LONG_TEXT);
        put_text(out, &self.hardware, LONG_TEXT);
        put_text(out, &self.software, LONG_TEXT);
        put_text(out, &self.serial, SERIAL_TEXT);
        put_text(out, &self.datapath, LONG_TEXT);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            manufacturer: text(reader.take(LONG_TEXT)?),
            hardware: text(reader.take(LONG_TEXT)?),
            software: text(reader.take(LONG_TEXT)?),
            serial: text(reader.take(SERIAL_TEXT)?),
            datapath: text(reader.take(LONG_TEXT)?),
        })
    }
}

/// Sums over flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AggregateStatistics {
    /// Packets; none if they are not counted.
    pub packets: Option<u64>,
    /// Bytes; none if they are not counted.
    pub bytes: Option<u64>,
    /// Flows.
    pub flows: u32,
}

impl AggregateStatistics {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let counted =
            FlowStatistics { packets: self.packets, bytes: self.bytes, ..FlowStatistics::default() };
        put_oxs(out, &counted, Some(self.flows));
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let found = oxs_from(reader)?;
        Ok(Self {
            packets: found.flow.packets,
            bytes: found.flow.bytes,
            flows: found.flows.unwrap_or_default(),
        })
    }
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Counters {
    fn put(self, out: &mut Vec<u8>) {
        put_u64(out, self.packets);
        put_u64(out, self.bytes);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { packets: reader.u64()?, bytes: reader.u64()? })
    }
}

/// What a group counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupStatistics {
    /// The group.
    pub id: GroupId,
    /// The flows and groups that use it.
    pub references: u32,
    /// All its packets.
    pub total: Counters,
    /// Since it was added.
    pub duration: Duration,
    /// Those of each bucket.
    pub buckets: Vec<Counters>,
}

impl GroupStatistics {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_zeros(out, 4);
        put_u32(out, self.id.0);
        put_u32(out, self.references);
        put_zeros(out, 4);
        self.total.put(out);
        put_duration(out, self.duration);
        self.buckets.iter().for_each(|bucket| bucket.put(out));
        set_length(out, start, start);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut ahead = reader.clone();
        let length = usize::from(ahead.u16()?);
        let mut entry = reader.part(length)?.named("group statistics");
        entry.skip(4)?;
        let (id, references) = (GroupId(entry.u32()?), entry.u32()?);
        entry.skip(4)?;
        let total = Counters::read(&mut entry)?;
        let duration = duration_from(&mut entry)?;
        Ok(Self { id, references, total, duration, buckets: all_from(&mut entry, Counters::read)? })
    }
}

/// What a meter counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeterStatistics {
    /// The meter.
    pub id: MeterId,
    /// The flows that use it; OVS says zero.
    pub references: u32,
    /// All that came.
    pub total: Counters,
    /// Since it was added.
    pub duration: Duration,
    /// What each band dropped.
    pub bands: Vec<Counters>,
}

impl MeterStatistics {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_u32(out, self.id.0);
        put_zeros(out, 8);
        put_u32(out, self.references);
        self.total.put(out);
        put_duration(out, self.duration);
        self.bands.iter().for_each(|band| band.put(out));
        set_length(out, start + 4, start);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut ahead = reader.clone();
        ahead.skip(4)?;
        let length = usize::from(ahead.u16()?);
        let mut entry = reader.part(length)?.named("meter statistics");
        let id = MeterId(entry.u32()?);
        entry.skip(8)?;
        let references = entry.u32()?;
        let total = Counters::read(&mut entry)?;
        let duration = duration_from(&mut entry)?;
        Ok(Self { id, references, total, duration, bands: all_from(&mut entry, Counters::read)? })
    }
}
