//! Tables, and the names that a controller gives them (OpenFlow 1.5 §7.3.5.18).

use super::port::text;
use crate::TableId;
use crate::codec::error::DecodeError;
use crate::codec::reader::Reader;
use crate::codec::writer::{put_text, put_u8, put_u32, put_u64, put_zeros, set_length};

/// The bytes of a name (`OFP_MAX_TABLE_NAME_LEN`).
const NAME_WIDTH: usize = 32;

/// Changes the tables that are given (`OFPTFC_MODIFY`); to replace the pipeline, all of them would have to be.
const COMMAND_MODIFY: u8 = 1;

/// What a table is and can. To name tables, send back what came with other names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFeatures {
    /// The table.
    pub table: TableId,
    /// Its name, of 31 bytes at most; the rest of the field is zeros.
    pub name: String,
    /// `OFPTFC_*`.
    pub features: u32,
    /// The bits of the metadata that it can match.
    pub metadata_match: u64,
    /// The bits of the metadata that it can write.
    pub metadata_write: u64,
    /// What it is able to do (`OFPTC_*`).
    pub capabilities: u32,
    /// The flows that fit.
    pub max_entries: u32,
    /// What it can match and do, as it stands on the wire.
    pub properties: Vec<u8>,
}

impl TableFeatures {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_zeros(out, 2);
        put_u8(out, self.table.0);
        put_u8(out, COMMAND_MODIFY);
        put_u32(out, self.features);
        put_text(out, &self.name, NAME_WIDTH);
        put_u64(out, self.metadata_match);
        put_u64(out, self.metadata_write);
        put_u32(out, self.capabilities);
        put_u32(out, self.max_entries);
        out.extend(&self.properties);
        set_length(out, start, start);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut ahead = reader.clone();
        let length = usize::from(ahead.u16()?);
        let mut entry = reader.part(length)?.named("table features");
        entry.skip(2)?;
        let table = TableId(entry.u8()?);
        entry.skip(1)?;
        let features = entry.u32()?;
        let name = text(entry.take(NAME_WIDTH)?);
        let (metadata_match, metadata_write) = (entry.u64()?, entry.u64()?);
        let (capabilities, max_entries) = (entry.u32()?, entry.u32()?);
        let properties = entry.rest().to_vec();
        Ok(Self {
            table,
            name,
            features,
            metadata_match,
            metadata_write,
            capabilities,
            max_entries,
            properties,
        })
    }
}
