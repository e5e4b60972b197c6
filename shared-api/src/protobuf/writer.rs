//! Writes protobuf from the end to the beginning.
//!
//! A message stands behind its length, which is known when the message is written: backwards, everything is written once,
//! into one buffer, and no length is computed before.

/// How the value of a field is encoded (protobuf encoding, "Message Structure").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireType {
    /// A number of variable length.
    Varint = 0,
    /// Eight bytes, the least significant first.
    Fixed64 = 1,
    /// A length and so many bytes.
    Bytes = 2,
    /// Four bytes, the least significant first.
    Fixed32 = 5,
}

/// A buffer that is filled from its end.
#[derive(Debug, Default)]
pub struct Writer {
    buffer: Vec<u8>,
    /// Where what is written begins: never beyond the end of the buffer.
    start: usize,
}

/// The least room that is made at once.
const LEAST_ROOM: usize = 256;

impl Writer {
    /// How much is written, in bytes.
    pub fn written(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// What is written.
    pub fn finish(mut self) -> Vec<u8> {
        self.buffer.drain(..self.start);
        self.buffer
    }

    /// Puts bytes before what is written.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
    }

    /// Puts a number of variable length before what is written.
    pub fn varint(&mut self, mut number: u64) {
        let bits = u64::BITS - (number | 1).leading_zeros();
        let room = self.room(bits.div_ceil(7) as usize);
        let last = room.len() - 1;
        for (index, byte) in room.iter_mut().enumerate() {
            let more = if index < last { 0x80 } else { 0 };
            *byte = number.to_le_bytes()[0] & 0x7f | more;
            number >>= 7;
        }
    }

    /// Puts the number and wire type of a field before its value.
    pub fn tag(&mut self, field: u32, wire_type: WireType) {
        self.varint(u64::from(field) << 3 | wire_type as u64);
    }

    /// Puts a field with a number before what is written.
    pub fn varint_field(&mut self, field: u32, number: u64) {
        self.varint(number);
        self.tag(field, WireType::Varint);
    }

    /// Puts a field with bytes before what is written.
    pub fn bytes_field(&mut self, field: u32, bytes: &[u8]) {
        self.bytes(bytes);
        self.varint(bytes.len() as u64);
        self.tag(field, WireType::Bytes);
    }

    /// Puts a field with what `content` writes before what is written.
    pub fn nested(&mut self, field: u32, content: impl FnOnce(&mut Self)) {
        let before = self.written();
        content(self);
        self.varint((self.written() - before) as u64);
        self.tag(field, WireType::Bytes);
    }

    /// Room for so many bytes before what is written.
    fn room(&mut self, length: usize) -> &mut [u8] {
        if self.start < length {
            self.grow(length);
        }
        let end = self.start;
        self.start -= length;
        &mut self.buffer[self.start..end]
    }

    fn grow(&mut self, length: usize) {
        let written = self.written();
        let mut larger = vec![0; (self.buffer.len() * 2).max(written + length + LEAST_ROOM)];
        let start = larger.len() - written;
        larger[start..].copy_from_slice(&self.buffer[self.start..]);
        (self.buffer, self.start) = (larger, start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut writer = Writer::default();
        write(&mut writer);
        writer.finish()
    }

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        for (number, bytes) in [
            (0, &[0][..]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (300, &[0xac, 2]),
            (u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        ] {
            assert_eq!(written(|writer| writer.varint(number)), bytes, "{number}");
        }
    }

    #[test]
    fn a_message_stands_behind_its_tag_and_length() {
        let message = written(|writer| {
            writer.nested(2, |writer| {
                writer.bytes_field(3, b"ab");
                writer.varint_field(1, 150);
            });
        });
        assert_eq!(message, [0x12, 7, 8, 0x96, 1, 0x1a, 2, b'a', b'b']);
    }

    #[test]
    fn nothing_is_lost_when_the_buffer_grows() {
        let numbers: Vec<u8> = (0..100).collect();
        let all = written(|writer| (0..100).for_each(|_| writer.bytes(&numbers)));
        assert_eq!(all, numbers.repeat(100));
    }
}
