//! Which asynchronous messages a controller gets (OpenFlow 1.5 §7.3.10).

use crate::PacketInReason;
use crate::codec::error::DecodeError;
use crate::codec::property::{properties, put_property_u32};
use crate::codec::reader::Reader;

/// `OFPACPT_*` of a controller that is equal to others or the first of them.
mod property {
    pub(super) const PACKET_IN: u16 = 1;
    pub(super) const PORT_STATUS: u16 = 3;
    pub(super) const FLOW_REMOVED: u16 = 5;
}

/// A bit for each reason that the controller wants to hear of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsyncConfig {
    /// Bits of [`PacketInReason`].
    pub packet_in: u32,
    /// Bits of `OFPPR_*`: added, deleted, modified.
    pub port_status: u32,
    /// Bits of `OFPRR_*`.
    pub flow_removed: u32,
}

impl AsyncConfig {
    /// The bit of a reason.
    pub const fn packet_in_bit(reason: PacketInReason) -> u32 {
        1_u32.wrapping_shl(reason.code() as u32)
    }

    pub(super) fn put(self, out: &mut Vec<u8>) {
        put_property_u32(out, property::PACKET_IN, self.packet_in);
        put_property_u32(out, property::PORT_STATUS, self.port_status);
        put_property_u32(out, property::FLOW_REMOVED, self.flow_removed);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut config = Self::default();
        for (kind, mut value) in properties(reader, "asynchronous configuration")? {
            match kind {
                property::PACKET_IN => config.packet_in = value.u32()?,
                property::PORT_STATUS => config.port_status = value.u32()?,
                property::FLOW_REMOVED => config.flow_removed = value.u32()?,
                _ => {}
            }
        }
        Ok(config)
    }
}
