//! Writes big-endian numbers, padding, and lengths that are known only afterwards.
//!
//! A length that does not fit is written as 65,535: the message around it is then too long as well, and is refused.

pub(crate) fn put_u8(out: &mut Vec<u8>, value: u8) {
    out.push(value);
}

pub(crate) fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(crate) fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(crate) fn put_zeros(out: &mut Vec<u8>, count: usize) {
    out.resize(out.len() + count, 0);
}

/// The `count` least significant bytes of a number, 16 at most.
pub(crate) fn put_number(out: &mut Vec<u8>, value: u128, count: usize) {
    let bytes = value.to_be_bytes();
    out.extend(bytes.iter().skip(bytes.len().saturating_sub(count)));
}

/// Text in a field of fixed width, filled up with zeros; the last byte always is one.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str, width: usize) {
    let end = out.len() + width;
    out.extend(text.bytes().take(width.saturating_sub(1)));
    out.resize(end, 0);
}

/// Zeros to a multiple of eight bytes since `start`.
pub(crate) fn pad_to_8(out: &mut Vec<u8>, start: usize) {
    let length = out.len() - start;
    put_zeros(out, length.next_multiple_of(8) - length);
}

/// Writes the bytes since `start` into the 16 bits at `at`.
pub(crate) fn set_length(out: &mut [u8], at: usize, start: usize) {
    let length = u16::try_from(out.len() - start).unwrap_or(u16::MAX).to_be_bytes();
    if let Some(place) = out.get_mut(at..at + 2) {
        place.copy_from_slice(&length);
    }
}

/// A part that begins with its type and its length, the latter without the padding to eight bytes that follows.
pub(crate) fn put_element(out: &mut Vec<u8>, kind: u16, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    put_u16(out, kind);
    put_u16(out, 0);
    write(out);
    set_length(out, start + 2, start);
    pad_to_8(out, start);
}

/// As [`put_element`], with the padding counted.
pub(crate) fn put_padded_element(out: &mut Vec<u8>, kind: u16, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    put_element(out, kind, write);
    set_length(out, start + 2, start);
}
