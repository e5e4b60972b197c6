//! Packets for the controller, with metadata and what it takes to let them go on (`NXT_PACKET_IN2`, `NXT_RESUME`).

use crate::codec::error::DecodeError;
use crate::codec::oxm::{entries_from, put_entries};
use crate::codec::property::{
    properties, property_u64, put_bytes, put_property_u8, put_property_u32, put_property_u64,
};
use crate::codec::reader::{Reader, bad_value};
use crate::codec::writer::put_element;
use crate::{Cookie, Match, PacketInReason, TableId};

/// `NXPINT_*`.
mod property {
    pub(super) const PACKET: u16 = 0;
    pub(super) const FULL_LEN: u16 = 1;
    pub(super) const TABLE_ID: u16 = 3;
    pub(super) const COOKIE: u16 = 4;
    pub(super) const REASON: u16 = 5;
    pub(super) const METADATA: u16 = 6;
    pub(super) const USERDATA: u16 = 7;
    pub(super) const CONTINUATION: u16 = 8;
}

/// A packet for the controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketIn {
    /// From the Ethernet header on, perhaps cut.
    pub packet: Vec<u8>,
    /// How long it was, if it was cut.
    pub full_len: Option<u32>,
    /// The table of the flow that sent it.
    pub table: TableId,
    /// The cookie of the flow that sent it.
    pub cookie: Cookie,
    /// Why it was sent.
    pub reason: PacketInReason,
    /// Registers, marks, state of the connection, and where it came from: those that are not zero.
    pub metadata: Match,
    /// What the `controller` action carries.
    pub userdata: Vec<u8>,
    /// What [`Resume`] hands back; none if the packet was not held.
    pub continuation: Option<Vec<u8>>,
}

impl PacketIn {
    /// What lets a packet that was held go on as it is; none if it was not held.
    pub fn resume(&self) -> Option<Resume> {
        let continuation = self.continuation.clone()?;
        Some(Resume { packet: self.packet.clone(), metadata: self.metadata.clone(), continuation })
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, property::PACKET, &self.packet);
        if let Some(length) = self.full_len {
            put_property_u32(out, property::FULL_LEN, length);
        }
        put_property_u8(out, property::TABLE_ID, self.table.0);
        put_property_u64(out, property::COOKIE, self.cookie.0);
        put_property_u8(out, property::REASON, self.reason.code());
        put_element(out, property::METADATA, |out| put_entries(out, &self.metadata));
        if !self.userdata.is_empty() {
            put_bytes(out, property::USERDATA, &self.userdata);
        }
        if let Some(continuation) = &self.continuation {
            put_bytes(out, property::CONTINUATION, continuation);
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut packet_in = Self::default();
        for (kind, mut value) in properties(reader, "packet-in")? {
            match kind {
                property::PACKET => packet_in.packet = value.rest().to_vec(),
                property::FULL_LEN => packet_in.full_len = Some(value.u32()?),
                property::TABLE_ID => packet_in.table = TableId(value.u8()?),
                property::COOKIE => packet_in.cookie = Cookie(property_u64(&mut value)?),
                property::REASON => packet_in.reason = PacketInReason::from_code(value.u8()?),
                property::METADATA => packet_in.metadata = entries_from(&mut value)?,
                property::USERDATA => packet_in.userdata = value.rest().to_vec(),
                property::CONTINUATION => packet_in.continuation = Some(value.rest().to_vec()),
                _ => {}
            }
        }
        Ok(packet_in)
    }
}

/// Lets a packet that was held go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The packet, perhaps changed.
    pub packet: Vec<u8>,
    /// Its metadata, perhaps changed.
    pub metadata: Match,
    /// As it came with the packet.
    pub continuation: Vec<u8>,
}

impl Resume {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, property::PACKET, &self.packet);
        put_element(out, property::METADATA, |out| put_entries(out, &self.metadata));
        put_bytes(out, property::CONTINUATION, &self.continuation);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let PacketIn { packet, metadata, continuation, .. } = PacketIn::read(reader)?;
        Ok(Self { packet, metadata, continuation: continuation.unwrap_or_default() })
    }
}

/// The forms that packets may come in (`NXPIF_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketInFormat {
    /// That of the OpenFlow version.
    Standard,
    /// `NXT_PACKET_IN2`, which is [`PacketIn`].
    PacketIn2,
}

impl PacketInFormat {
    pub(super) const fn code(self) -> u32 {
        match self {
            Self::Standard => 0,
            Self::PacketIn2 => 2,
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.u32()? {
            0 => Ok(Self::Standard),
            2 => Ok(Self::PacketIn2),
            other => Err(bad_value("packet-in format", other)),
        }
    }
}
