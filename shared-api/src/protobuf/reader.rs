//! Takes the fields of a message apart. Nothing is copied.

use super::{DecodeError, Problem};

/// The value of a field, as it is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number of variable length.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// A text, bytes or a message.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32(u32),
}

/// The fields of a message, in the order in which they were sent. It ends with the first error.
#[derive(Clone, Debug)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The fields of a message without its length.
    pub fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    fn field(&mut self) -> Result<(u32, Value<'a>), DecodeError> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number));
        let number = number.ok_or(Problem::Tag(tag))?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(usize::try_from(length).unwrap_or(usize::MAX))?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(Problem::Tag(tag).into()),
        };
        Ok((number, value))
    }

    fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(Problem::TooLong.into());
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Problem::TooLong.into())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Problem::Truncated)?;
        self.0 = rest;
        Ok(*bytes)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Problem::Truncated)?;
        self.0 = rest;
        Ok(bytes)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &[u8], expected: &str) {
        let fields = Fields::of(message).map(|field| match field {
            Ok((number, value)) => format!("{number} {value:?}"),
            Err(error) => error.to_string(),
        });
        assert_eq!(fields.collect::<Vec<_>>().join("; "), expected);
    }

    #[test]
    fn fields_of_every_wire_type_are_read() {
        check(
            &[0x08, 0x96, 1, 0x12, 2, 7, 8, 0x1d, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0, 0],
            "1 Varint(150); 2 Bytes([7, 8]); 3 Fixed32(1); 4 Fixed64(2)",
        );
        check(&[], "");
    }

    #[test]
    fn damage_is_found_and_ends_the_message() {
        check(&[0x08], "it is cut off");
        check(&[0x12, 3, 1, 2], "it is cut off");
        check(&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "it is cut off");
        check(
            &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
            "a number has more than 64 bits",
        );
        check(&[0x00, 1], "0 is no tag of a field");
        check(&[0x08, 1, 0x0b, 0x08, 1], "1 Varint(1); 11 is no tag of a field");
    }
}
