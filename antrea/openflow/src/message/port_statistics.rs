//! What ports counted (OpenFlow 1.5 §7.3.5.6).

use std::time::Duration;

use antrea_types::OfPort;

use super::flow_statistics::{counted, duration_from, put_duration};
use crate::codec::error::DecodeError;
use crate::codec::property::properties;
use crate::codec::reader::Reader;
use crate::codec::writer::{put_element, put_u32, put_u64, put_zeros, set_length};

/// `OFPPSPT_ETHERNET`.
const ETHERNET: u16 = 0;

/// What a port counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortStatistics {
    /// The port.
    pub number: OfPort,
    /// Since it was added.
    pub duration: Duration,
    /// What came in.
    pub received: PortCounters,
    /// What went out.
    pub sent: PortCounters,
    /// What was wrong on the wire, if the port has one.
    pub ethernet: Option<EthernetErrors>,
}

/// One direction of a port; none for what it does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets.
    pub packets: Option<u64>,
    /// Their bytes.
    pub bytes: Option<u64>,
    /// Packets that were dropped.
    pub dropped: Option<u64>,
    /// Packets with errors.
    pub errors: Option<u64>,
}

/// Errors of an Ethernet port; none for what it does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EthernetErrors {
    /// Packets received out of line.
    pub frame: Option<u64>,
    /// Packets received too fast.
    pub overrun: Option<u64>,
    /// Packets received with a wrong checksum.
    pub crc: Option<u64>,
    /// Collisions.
    pub collisions: Option<u64>,
}

impl PortStatistics {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_zeros(out, 4);
        put_u32(out, self.number.0);
        put_duration(out, self.duration);
        let both = |count: fn(&PortCounters) -> Option<u64>| [count(&self.received), count(&self.sent)];
        let counters = [both(|c| c.packets), both(|c| c.bytes), both(|c| c.dropped), both(|c| c.errors)];
        counters.into_iter().flatten().for_each(|count| put_count(out, count));
        if let Some(EthernetErrors { frame, overrun, crc, collisions }) = self.ethernet {
            put_element(out, ETHERNET, |out| {
                put_zeros(out, 4);
                [frame, overrun, crc, collisions].into_iter().for_each(|count| put_count(out, count));
            });
        }
        set_length(out, start, start);
    }

    /// Reads an entry; properties beyond those of Ethernet (sizes of packets) are left out.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut ahead = reader.clone();
        let length = usize::from(ahead.u16()?);
        let mut entry = reader.part(length)?.named("port statistics");
        entry.skip(4)?;
        let (number, duration) = (OfPort(entry.u32()?), duration_from(&mut entry)?);
        let (mut received, mut sent) = (PortCounters::default(), PortCounters::default());
        for count in [
            &mut received.packets,
            &mut sent.packets,
            &mut received.bytes,
            &mut sent.bytes,
            &mut received.dropped,
            &mut sent.dropped,
            &mut received.errors,
            &mut sent.errors,
        ] {
            *count = counted(entry.u64()?);
        }
        let mut ethernet = None;
        for (kind, mut payload) in properties(&mut entry, "port statistics")? {
            if kind == ETHERNET {
                ethernet = Some(EthernetErrors::read(&mut payload)?);
            }
        }
        Ok(Self { number, duration, received, sent, ethernet })
    }
}

impl EthernetErrors {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.skip(4)?;
        Ok(Self {
            frame: counted(reader.u64()?),
            overrun: counted(reader.u64()?),
            crc: counted(reader.u64()?),
            collisions: counted(reader.u64()?),
        })
    }
}

fn put_count(out: &mut Vec<u8>, count: Option<u64>) {
    put_u64(out, count.unwrap_or(u64::MAX));
}
