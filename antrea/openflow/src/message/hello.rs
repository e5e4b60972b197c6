//! The first message of a connection, in which the sides find a version (OpenFlow 1.5 §7.5.1).

use super::VERSION;
use crate::codec::error::DecodeError;
use crate::codec::reader::Reader;
use crate::codec::writer::{put_element, put_u32};

/// `OFPHET_VERSIONBITMAP`.
const VERSION_BITMAP: u16 = 1;

/// What a side speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The highest version it speaks; also that of the message's header.
    pub version: u8,
    /// A bit for each version it speaks; none if it did not say.
    pub versions: Option<u32>,
}

impl Default for Hello {
    fn default() -> Self {
        Self { version: VERSION, versions: Some(1 << VERSION) }
    }
}

impl Hello {
    /// Whether it speaks OpenFlow 1.5.
    pub const fn speaks_our_version(&self) -> bool {
        match self.versions {
            Some(versions) => versions >> VERSION & 1 == 1,
            None => self.version >= VERSION,
        }
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        if let Some(versions) = self.versions {
            put_element(out, VERSION_BITMAP, |out| put_u32(out, versions));
        }
    }

    pub(super) fn read(version: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut versions = None;
        let mut elements = Reader::new(reader.rest(), "hello element");
        while !elements.is_empty() {
            let (kind, bytes) = elements.element(4, 8)?;
            if kind == VERSION_BITMAP {
                let mut bitmap = Reader::new(bytes, "hello element");
                bitmap.skip(4)?;
                versions = Some(bitmap.u32()?);
            }
        }
        Ok(Self { version, versions })
    }
}
