//! Messages: types whose fields have numbers.

use super::{DecodeError, Field, Problem, Value, Writer};

/// A message of protobuf.
pub trait Message: Sized {
    /// Writes the fields, the last first.
    fn write(&self, writer: &mut Writer);

    /// Reads the fields. Unknown ones are skipped; of one that must not repeat the last counts.
    ///
    /// # Errors
    /// The message is damaged, or a field has a value that its type cannot have.
    fn read(message: &[u8]) -> Result<Self, DecodeError>;
}

/// What was read of a field, or what a field is that was not sent.
pub(crate) fn finish<F: Field>(read: Option<F>) -> Result<F, DecodeError> {
    read.map_or_else(F::absent, Ok)
}

/// Writes a message as a field of another.
pub(crate) fn write_nested<M: Message>(message: &M, number: u32, writer: &mut Writer) {
    writer.nested(number, |writer| message.write(writer));
}

/// Reads a message that is a field of another.
pub(crate) fn read_nested<M: Message>(value: Value<'_>) -> Result<M, DecodeError> {
    match value {
        Value::Bytes(message) => M::read(message),
        _ => Err(Problem::WireType.into()),
    }
}

/// Declares the fields of a message: number, field, and its name in the API where that is not the Rust name in camel case.
/// They are written in the order of the table, which is that of the numbers upstream.
macro_rules! message {
    ($type:ident { $( $number:literal $field:ident $($name:literal)? ),* $(,)? }) => {
        impl $crate::protobuf::Message for $type {
            fn write(&self, writer: &mut $crate::protobuf::Writer) {
                let message = self;
                $crate::protobuf::message!(@write message writer [$($number $field,)*]);
            }

            fn read(message: &[u8]) -> Result<Self, $crate::protobuf::DecodeError> {
                $( let mut $field = None; )*
                for field in $crate::protobuf::Fields::of(message) {
                    let (number, value) = field?;
                    match number {
                        $( $number => $crate::protobuf::Field::read(&mut $field, value)
                            .map_err(|error| error.within($crate::protobuf::message!(@name $field $($name)?)))?, )*
                        _ => {}
                    }
                }
                Ok(Self {
                    $( $field: $crate::protobuf::finish($field)
                        .map_err(|error| error.within($crate::protobuf::message!(@name $field $($name)?)))?, )*
                })
            }
        }

        impl $crate::protobuf::Field for $type {
            fn write(&self, number: u32, writer: &mut $crate::protobuf::Writer) {
                $crate::protobuf::write_nested(self, number, writer);
            }

            fn read(
                slot: &mut Option<Self>,
                value: $crate::protobuf::Value<'_>,
            ) -> Result<(), $crate::protobuf::DecodeError> {
                *slot = Some($crate::protobuf::read_nested(value)?);
                Ok(())
            }

            fn absent() -> Result<Self, $crate::protobuf::DecodeError> {
                $crate::protobuf::Message::read(&[])
            }
        }
    };
    (@write $message:ident $writer:ident []) => {};
    (@write $message:ident $writer:ident [$number:literal $field:ident, $($later:tt)*]) => {
        $crate::protobuf::message!(@write $message $writer [$($later)*]);
        $crate::protobuf::Field::write(&$message.$field, $number, $writer);
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
}
pub(crate) use message;
