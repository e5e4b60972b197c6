//! Properties: typed parts, padded to eight bytes (OpenFlow 1.5 §7.2.1.2 and OVS's own messages alike).

use super::error::DecodeError;
use super::reader::Reader;
use super::writer::{put_element, put_padded_element, put_u8, put_u16, put_u32, put_u64, put_zeros};

/// The type of a property and its bytes without type and length.
pub(crate) type Property<'a> = (u16, Reader<'a>);

/// Reads properties to the end.
pub(crate) fn properties<'a>(
    reader: &mut Reader<'a>,
    what: &'static str,
) -> Result<Vec<Property<'a>>, DecodeError> {
    let mut found = Vec::new();
    while !reader.is_empty() {
        let (kind, bytes) = reader.element(4, 8)?;
        let mut payload = Reader::new(bytes, what);
        payload.skip(4)?;
        found.push((kind, payload));
    }
    Ok(found)
}

/// A property without a value.
pub(crate) fn put_flag(out: &mut Vec<u8>, kind: u16) {
    put_element(out, kind, |_| {});
}

/// A property of bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, kind: u16, bytes: &[u8]) {
    put_element(out, kind, |out| out.extend_from_slice(bytes));
}

/// A property of eight bits.
pub(crate) fn put_property_u8(out: &mut Vec<u8>, kind: u16, value: u8) {
    put_element(out, kind, |out| put_u8(out, value));
}

/// A property of 16 bits.
pub(crate) fn put_property_u16(out: &mut Vec<u8>, kind: u16, value: u16) {
    put_padded_element(out, kind, |out| put_u16(out, value));
}

/// A property of 32 bits.
pub(crate) fn put_property_u32(out: &mut Vec<u8>, kind: u16, value: u32) {
    put_element(out, kind, |out| put_u32(out, value));
}

/// A property of 64 bits, aligned.
pub(crate) fn put_property_u64(out: &mut Vec<u8>, kind: u16, value: u64) {
    put_element(out, kind, |out| {
        put_zeros(out, 4);
        put_u64(out, value);
    });
}

/// Reads the value of a property of 64 bits.
pub(crate) fn property_u64(payload: &mut Reader<'_>) -> Result<u64, DecodeError> {
    payload.skip(4)?;
    payload.u64()
}
