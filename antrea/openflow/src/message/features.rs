//! What a bridge is, and how it is set up (OpenFlow 1.5 §7.3.1, 7.3.2).

use crate::codec::error::DecodeError;
use crate::codec::reader::Reader;
use crate::codec::writer::{put_u8, put_u16, put_u32, put_u64, put_zeros};

/// What a bridge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Its identity: 16 bits, and the bridge's MAC address.
    pub datapath_id: u64,
    /// The packets it can buffer; OVS has no buffers.
    pub buffers: u32,
    /// The tables it has.
    pub tables: u8,
    /// Which of its connections this is; 0 is the main one.
    pub auxiliary: u8,
    /// `OFPC_*`.
    pub capabilities: u32,
}

impl Features {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.datapath_id);
        put_u32(out, self.buffers);
        put_u8(out, self.tables);
        put_u8(out, self.auxiliary);
        put_zeros(out, 2);
        put_u32(out, self.capabilities);
        put_zeros(out, 4);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (datapath_id, buffers) = (reader.u64()?, reader.u32()?);
        let (tables, auxiliary) = (reader.u8()?, reader.u8()?);
        reader.skip(2)?;
        Ok(Self { datapath_id, buffers, tables, auxiliary, capabilities: reader.u32()? })
    }
}

/// What becomes of IP fragments (`OFPC_FRAG_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FragmentHandling {
    /// They pass.
    #[default]
    Normal,
    /// They are dropped.
    Drop,
    /// They are put together.
    Reassemble,
    /// Later ones pass as if they had ports of zero (OVS).
    NxMatch,
}

/// How a bridge handles packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchConfig {
    /// What becomes of fragments.
    pub fragments: FragmentHandling,
    /// How many bytes of a packet without a flow go to the controller; also what turns that on for some connections.
    pub miss_send_len: u16,
}

impl SwitchConfig {
    pub(super) fn put(self, out: &mut Vec<u8>) {
        put_u16(
            out,
            match self.fragments {
                FragmentHandling::Normal => 0,
                FragmentHandling::Drop => 1,
                FragmentHandling::Reassemble => 2,
                FragmentHandling::NxMatch => 3,
            },
        );
        put_u16(out, self.miss_send_len);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let fragments = match reader.u16()? & 3 {
            0 => FragmentHandling::Normal,
            1 => FragmentHandling::Drop,
            2 => FragmentHandling::Reassemble,
            _ => FragmentHandling::NxMatch,
        };
        Ok(Self { fragments, miss_send_len: reader.u16()? })
    }
}
