//! Reads big-endian numbers from bytes, and says what it read when they end too soon.

use super::error::DecodeError;

/// What is left of some bytes. Not `Copy`: what is read from a copy would be read again, perhaps for ever.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// Reads `what` from `bytes`.
    pub(crate) const fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { bytes, what }
    }

    /// The same bytes, as something else.
    pub(crate) const fn named(self, what: &'static str) -> Self {
        Self { bytes: self.bytes, what }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) const fn left(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        match self.bytes.split_at_checked(count) {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(taken)
            }
            None => Err(DecodeError::Truncated { what: self.what, wanted: count, left: self.bytes.len() }),
        }
    }

    /// A reader of the next `count` bytes.
    pub(crate) fn part(&mut self, count: usize) -> Result<Self, DecodeError> {
        Ok(Self { bytes: self.take(count)?, what: self.what })
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    pub(crate) fn skip(&mut self, count: usize) -> Result<(), DecodeError> {
        self.take(count).map(drop)
    }

    /// Skips padding, as far as there is any.
    pub(crate) fn skip_up_to(&mut self, count: usize) {
        self.bytes = self.bytes.get(count..).unwrap_or_default();
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_be_bytes)
    }

    /// A number of `count` bytes, 16 at most.
    pub(crate) fn number(&mut self, count: usize) -> Result<u128, DecodeError> {
        if count > 16 {
            return Err(self.bad_length(count));
        }
        Ok(self.take(count)?.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)))
    }

    /// A part of which the first two numbers are its type and its length, both of 16 bits, with padding to a multiple of
    /// `align` after it: the type, and the whole part without the padding.
    pub(crate) fn element(&mut self, least: usize, align: usize) -> Result<(u16, &'a [u8]), DecodeError> {
        let mut ahead = self.clone();
        let kind = ahead.u16()?;
        let length = usize::from(ahead.u16()?);
        if length < least.max(4) {
            return Err(self.bad_length(length));
        }
        let element = self.take(length)?;
        self.skip_up_to(length.next_multiple_of(align) - length);
        Ok((kind, element))
    }

    pub(crate) const fn bad_length(&self, length: usize) -> DecodeError {
        DecodeError::Length { what: self.what, length }
    }

    pub(crate) fn bad_value(&self, value: impl Into<u64>) -> DecodeError {
        bad_value(self.what, value)
    }
}

pub(crate) fn bad_value(what: &'static str, value: impl Into<u64>) -> DecodeError {
    DecodeError::Value { what, value: value.into() }
}
