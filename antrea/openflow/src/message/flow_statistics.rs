//! Flows as they are in a table, with what they counted (OpenFlow 1.5 §7.3.5.2; OXS, §7.2.4).

use std::time::Duration;

use crate::codec::error::DecodeError;
use crate::codec::instructions::{instructions_from, put_instructions};
use crate::codec::oxm::{match_from, put_match};
use crate::codec::reader::Reader;
use crate::codec::writer::{pad_to_8, put_u8, put_u16, put_u32, put_u64, put_zeros, set_length};
use crate::{Cookie, Flow, FlowFlags, FlowPriority, TableId};

/// The class of OpenFlow's own statistics (`OFPXSC_OPENFLOW_BASIC`).
const CLASS_BASIC: u16 = 0x8002;

/// `OFPXST_OFB_*`.
mod field {
    pub(super) const DURATION: u8 = 0;
    pub(super) const IDLE_TIME: u8 = 1;
    pub(super) const FLOW_COUNT: u8 = 3;
    pub(super) const PACKET_COUNT: u8 = 4;
    pub(super) const BYTE_COUNT: u8 = 5;
}

/// What a flow, or several together, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowStatistics {
    /// Since it was added.
    pub duration: Duration,
    /// Since its last packet.
    pub idle: Duration,
    /// Packets; none if they are not counted.
    pub packets: Option<u64>,
    /// Their bytes; none if they are not counted.
    pub bytes: Option<u64>,
}

/// A flow of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowEntry {
    /// The flow.
    pub flow: Flow,
    /// What it counted.
    pub statistics: FlowStatistics,
}

/// All statistics that OVS sends.
#[derive(Default)]
pub(super) struct Oxs {
    pub(super) flow: FlowStatistics,
    pub(super) flows: Option<u32>,
}

pub(super) fn put_oxs(out: &mut Vec<u8>, statistics: &FlowStatistics, flows: Option<u32>) {
    let start = out.len();
    put_zeros(out, 4);
    if flows.is_none() {
        for (number, time) in [(field::DURATION, statistics.duration), (field::IDLE_TIME, statistics.idle)] {
            put_header(out, number, 8);
            put_duration(out, time);
        }
    }
    for (number, count) in [(field::PACKET_COUNT, statistics.packets), (field::BYTE_COUNT, statistics.bytes)]
    {
        if let Some(count) = count {
            put_header(out, number, 8);
            put_u64(out, count);
        }
    }
    if let Some(flows) = flows {
        put_header(out, field::FLOW_COUNT, 4);
        put_u32(out, flows);
    }
    set_length(out, start + 2, start);
    pad_to_8(out, start);
}

fn put_header(out: &mut Vec<u8>, number: u8, length: u8) {
    put_u16(out, CLASS_BASIC);
    put_u8(out, number << 1);
    put_u8(out, length);
}

/// Seconds and nanoseconds, 32 bits each.
pub(super) fn put_duration(out: &mut Vec<u8>, duration: Duration) {
    put_u32(out, u32::try_from(duration.as_secs()).unwrap_or(u32::MAX));
    put_u32(out, duration.subsec_nanos());
}

pub(super) fn oxs_from(reader: &mut Reader<'_>) -> Result<Oxs, DecodeError> {
    let (_, element) = reader.element(4, 8)?;
    let mut entries = Reader::new(element, "flow statistics");
    entries.skip(4)?;
    let mut found = Oxs::default();
    while !entries.is_empty() {
        let class = entries.u16()?;
        let number = entries.u8()? >> 1;
        let length = usize::from(entries.u8()?);
        let mut value = entries.part(length)?;
        match (class, number) {
            (CLASS_BASIC, field::DURATION) => found.flow.duration = duration_from(&mut value)?,
            (CLASS_BASIC, field::IDLE_TIME) => found.flow.idle = duration_from(&mut value)?,
            (CLASS_BASIC, field::FLOW_COUNT) => found.flows = Some(value.u32()?),
            (CLASS_BASIC, field::PACKET_COUNT) => found.flow.packets = counted(value.u64()?),
            (CLASS_BASIC, field::BYTE_COUNT) => found.flow.bytes = counted(value.u64()?),
            _ => {}
        }
    }
    Ok(found)
}

/// All ones stand for what is not counted.
pub(super) fn counted(count: u64) -> Option<u64> {
    (count != u64::MAX).then_some(count)
}

/// As [`put_duration`] writes it. OVS says all ones where it does not know, more than can be written again.
pub(super) fn duration_from(reader: &mut Reader<'_>) -> Result<Duration, DecodeError> {
    let (seconds, nanoseconds) = (reader.u32()?, reader.u32()?);
    let duration = Duration::from_secs(seconds.into()) + Duration::from_nanos(nanoseconds.into());
    Ok(duration.min(Duration::new(u32::MAX.into(), 999_999_999)))
}

impl FlowEntry {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let (start, flow) = (out.len(), &self.flow);
        put_zeros(out, 4);
        put_u8(out, flow.table.0);
        put_zeros(out, 1);
        put_u16(out, flow.priority.0);
        put_u16(out, flow.idle_timeout);
        put_u16(out, flow.hard_timeout);
        put_u16(out, flow.flags.bits());
        put_u16(out, flow.importance);
        put_u64(out, flow.cookie.0);
        put_match(out, &flow.matching);
        put_oxs(out, &self.statistics, None);
        put_instructions(out, &flow.actions, flow.goto);
        set_length(out, start, start);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut ahead = reader.clone();
        let length = usize::from(ahead.u16()?);
        let mut entry = reader.part(length)?.named("flow description");
        entry.skip(4)?;
        let table = TableId(entry.u8()?);
        entry.skip(1)?;
        let mut flow = Flow::new(table, FlowPriority(entry.u16()?));
        flow.idle_timeout = entry.u16()?;
        flow.hard_timeout = entry.u16()?;
        flow.flags = FlowFlags::from_bits(entry.u16()?);
        flow.importance = entry.u16()?;
        flow.cookie = Cookie(entry.u64()?);
        flow.matching = match_from(&mut entry)?;
        let statistics = oxs_from(&mut entry)?.flow;
        (flow.actions, flow.goto) = instructions_from(&mut entry)?;
        Ok(Self { flow, statistics })
    }
}
