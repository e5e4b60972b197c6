//! How types of fields are encoded.

use std::collections::BTreeMap;

use super::{DecodeError, Fields, Problem, Value, WireType, Writer};

/// The type of a field of a message.
pub trait Field: Sized {
    /// Writes the field, or nothing where there is nothing to write.
    fn write(&self, number: u32, writer: &mut Writer);

    /// Takes in a value of the field; a field that repeats has several.
    ///
    /// # Errors
    /// The field cannot have this value.
    fn read(slot: &mut Option<Self>, value: Value<'_>) -> Result<(), DecodeError>;

    /// The value of a field that was not sent.
    ///
    /// # Errors
    /// It has to be sent.
    fn absent() -> Result<Self, DecodeError>;
}

impl Field for String {
    fn write(&self, number: u32, writer: &mut Writer) {
        writer.bytes_field(number, self.as_bytes());
    }

    fn read(slot: &mut Option<Self>, value: Value<'_>) -> Result<(), DecodeError> {
        *slot = Some(text(value)?.to_owned());
        Ok(())
    }

    fn absent() -> Result<Self, DecodeError> {
        Ok(Self::new())
    }
}

/// The text that a value is.
pub(crate) fn text(value: Value<'_>) -> Result<&str, DecodeError> {
    let Value::Bytes(bytes) = value else { return Err(Problem::WireType.into()) };
    Ok(str::from_utf8(bytes).map_err(|_| Problem::Text)?)
}

impl Field for bool {
    fn write(&self, number: u32, writer: &mut Writer) {
        writer.varint_field(number, u64::from(*self));
    }

    fn read(slot: &mut Option<Self>, value: Value<'_>) -> Result<(), DecodeError> {
        let Value::Varint(number) = value else { return Err(Problem::WireType.into()) };
        *slot = Some(number != 0);
        Ok(())
    }

    fn absent() -> Result<Self, DecodeError> {
        Ok(false)
    }
}

/// Numbers are Go's int32 and int64 on the wire: negative ones have ten bytes.
macro_rules! number {
    ($($type:ty),*) => { $(
        impl Field for $type {
            fn write(&self, number: u32, writer: &mut Writer) {
                writer.varint_field(number, i64::from(*self).cast_unsigned());
            }

            fn read(slot: &mut Option<Self>, value: Value<'_>) -> Result<(), DecodeError> {
                read_number(slot, value)
            }

            fn absent() -> Result<Self, DecodeError> {
                Ok(0)
            }
        }
    )* };
}
number!(i64, i32, u32, u16, u8);

fn read_number<N: TryFrom<i64>>(slot: &mut Option<N>, value: Value<'_>) -> Result<(), DecodeError> {
    let Value::Varint(number) = value else { return Err(Problem::WireType.into()) };
    let number = number.cast_signed();
    *slot = Some(N::try_from(number).map_err(|_| Problem::Range(number.into()))?);
    Ok(())
}

/// A count, which is an int64 on the wire: no counter gets so far that it would be negative there.
impl Field for u64 {
    fn write(&self, number: u32, writer: &mut Writer) {
        writer.varint_field(number, *self);
    }

    fn read(slot: &mut Option<Self>, value: Value<'_>) -> Result<(), DecodeError> {
        read_number(slot, value)
    }

    fn absent() -> Result<Self, DecodeError> {
        Ok(0)
    }
}

impl Field for f64 {
    fn write(&self, number: u32, writer: &mut Writer) {
        writer.bytes(&self.to_le_bytes());
        writer.tag(number, WireType::Fixed64);
    }

    fn read(slot: &mut Option<Self>, value: Value<'_>) -> Result<(), DecodeError> {
        let Value::Fixed64(bits) = value else { return Err(Problem::WireType.into()) };
        let number = Some(Self::from_bits(bits)).filter(|number| number.is_finite());
        *slot = Some(number.ok_or(Problem::NotFinite)?);
        Ok(())
    }

    fn absent() -> Result<Self, DecodeError> {
        Ok(0.0)
    }
}

impl<F: Field> Field for Option<F> {
    fn write(&self, number: u32, writer: &mut Writer) {
        if let Some(field) = self {
            field.write(number, writer);
        }
    }

    fn read(slot: &mut Option<Self>, value: Value<'_>) -> Result<(), DecodeError> {
        F::read(slot.insert(None), value)
    }

    fn absent() -> Result<Self, DecodeError> {
        Ok(None)
    }
}

impl<F: Field> Field for Vec<F> {
    fn write(&self, number: u32, writer: &mut Writer) {
        for item in self.iter().rev() {
            item.write(number, writer);
        }
    }

    fn read(slot: &mut Option<Self>, value: Value<'_>) -> Result<(), DecodeError> {
        let items = slot.get_or_insert_default();
        let mut item = None;
        F::read(&mut item, value).map_err(|error| error.at(items.len()))?;
        items.extend(item);
        Ok(())
    }

    fn absent() -> Result<Self, DecodeError> {
        Ok(Self::new())
    }
}

/// A map is a list of messages with a key and a value, in the order of the keys.
impl Field for BTreeMap<String, String> {
    fn write(&self, number: u32, writer: &mut Writer) {
        for (key, value) in self.iter().rev() {
            writer.nested(number, |writer| {
                value.write(2, writer);
                key.write(1, writer);
            });
        }
    }

    fn read(slot: &mut Option<Self>, value: Value<'_>) -> Result<(), DecodeError> {
        let Value::Bytes(entry) = value else { return Err(Problem::WireType.into()) };
        let (mut key, mut content) = (String::new(), String::new());
        for field in Fields::of(entry) {
            match field? {
                (1, value) => text(value)?.clone_into(&mut key),
                (2, value) => text(value)?.clone_into(&mut content),
                _ => {}
            }
        }
        slot.get_or_insert_default().insert(key, content);
        Ok(())
    }

    fn absent() -> Result<Self, DecodeError> {
        Ok(Self::new())
    }
}
