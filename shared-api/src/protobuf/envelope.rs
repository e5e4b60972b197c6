//! The envelope around an object: `k8s`, a zero byte, and a message that says of which kind the object is (`Unknown` of
//! k8s.io/apimachinery/pkg/runtime).

use super::field::text;
use super::{DecodeError, Fields, Message, Problem, Value, Writer};
use crate::api::ApiObject;

/// What enveloped objects are called in HTTP.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What the frames of a watch are called in HTTP.
pub const WATCH_MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf;stream=watch";

const MAGIC: &[u8] = b"k8s\0";

/// An object in its envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// Group and version.
    pub api_version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The object as a message.
    pub object: &'a [u8],
}

/// The object in its envelope.
pub fn encode<T: ApiObject + Message>(object: &T) -> Vec<u8> {
    let mut writer = Writer::default();
    write_enveloped(object, &mut writer);
    writer.finish()
}

/// The object of an envelope.
///
/// # Errors
/// It is damaged, or of another kind.
pub fn decode<T: ApiObject + Message>(bytes: &[u8]) -> Result<T, DecodeError> {
    Envelope::open(bytes)?.read()
}

/// Writes the object in its envelope.
pub(crate) fn write_enveloped<T: ApiObject + Message>(object: &T, writer: &mut Writer) {
    let (content_type, content_encoding) = (b"", b"");
    writer.bytes_field(4, content_type);
    writer.bytes_field(3, content_encoding);
    writer.nested(2, |writer| object.write(writer));
    writer.nested(1, |writer| {
        writer.bytes_field(2, T::KIND.as_bytes());
        writer.bytes_field(1, T::API_VERSION.as_bytes());
    });
    writer.bytes(MAGIC);
}

impl<'a> Envelope<'a> {
    /// Opens an envelope without looking at the object.
    ///
    /// # Errors
    /// It is damaged, or what is in it is compressed.
    pub fn open(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let message = bytes.strip_prefix(MAGIC).ok_or(Problem::Magic)?;
        let mut envelope = Self { api_version: "", kind: "", object: &[] };
        for field in Fields::of(message) {
            match field? {
                (1, Value::Bytes(type_meta)) => envelope.read_type(type_meta)?,
                (2, Value::Bytes(object)) => envelope.object = object,
                (3, Value::Bytes(encoding)) if !encoding.is_empty() => {
                    return Err(
                        Problem::ContentEncoding(String::from_utf8_lossy(encoding).into_owned()).into()
                    );
                }
                (1..=3, Value::Varint(_) | Value::Fixed64(_) | Value::Fixed32(_)) => {
                    return Err(Problem::WireType.into());
                }
                _ => {}
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, type_meta: &'a [u8]) -> Result<(), DecodeError> {
        for field in Fields::of(type_meta) {
            match field? {
                (1, value) => self.api_version = text(value)?,
                (2, value) => self.kind = text(value)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The object, which has to be a `T`.
    ///
    /// # Errors
    /// It is of another kind, or damaged.
    pub fn read<T: ApiObject + Message>(&self) -> Result<T, DecodeError> {
        crate::api::expect_kind::<T>(self.api_version, self.kind)?;
        T::read(self.object)
    }
}
