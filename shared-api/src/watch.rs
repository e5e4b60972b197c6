//! Events of watches, as JSON lines and as protobuf frames.
//!
//! A watch begins with an ADDED event for each object and a BOOKMARK; then come changes. Of a group MODIFIED says what
//! changed, not what the group is.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::api::{ApiObject, TypeMeta, Typed, WireObject};
use crate::meta::Status;
use crate::protobuf::{
    DecodeError, Envelope, Field, Fields, Message, Problem, Value, Writer, write_enveloped,
};
use crate::word::closed_word;

closed_word!(
    /// What happened.
    EventType "type" {
        /// The object is there, or is there for the watcher, now.
        Added = "ADDED",
        /// It changed.
        Modified = "MODIFIED",
        /// It is gone, or gone for the watcher.
        Deleted = "DELETED",
        /// All objects that were there have been sent.
        Bookmark = "BOOKMARK",
        /// The watch failed.
        Error = "ERROR",
    }
);

/// A kind of objects that are watched.
pub trait Watched: WireObject {
    /// What MODIFIED events are about: the whole object, or a patch of it.
    type Change: WireObject + Clone + Debug + PartialEq;
}

/// Declares what MODIFIED events of a kind are about.
macro_rules! watched {
    ($type:ident, $change:ident) => {
        impl $crate::watch::Watched for $type {
            type Change = $change;
        }
    };
}
pub(crate) use watched;

/// An event of a watch.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<T: Watched> {
    /// The object is there.
    Added(T),
    /// It changed.
    Modified(T::Change),
    /// It is gone; of the object there may be no more than metadata.
    Deleted(T),
    /// All objects that were there have been sent; of the object there is the resource version.
    Bookmark(T),
    /// The watch failed.
    Error(Box<Status>),
}

/// An event as a protobuf frame with its length. It is the same for all watchers. The object may be anything that writes
/// itself as one of its kind.
pub fn to_frame<T: ApiObject + Message>(event_type: EventType, object: &T) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.nested(2, |writer| writer.nested(1, |writer| write_enveloped(object, writer)));
    event_type.write(1, &mut writer);
    let length = u32::try_from(writer.written()).unwrap_or(u32::MAX);
    writer.bytes(&length.to_be_bytes());
    writer.finish()
}

/// An event as a line of JSON, with its end. It is the same for all watchers.
///
/// # Errors
/// None that values of these types bring about.
pub fn to_line<T: ApiObject + Serialize>(event_type: EventType, object: &T) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&Line { event_type, object: Typed::new(object) })?;
    line.push(b'\n');
    Ok(line)
}

#[derive(Serialize, Deserialize)]
struct Line<T> {
    #[serde(rename = "type")]
    event_type: EventType,
    object: T,
}

impl<T: Watched> Event<T> {
    /// The event of a protobuf frame, which comes without its length.
    ///
    /// # Errors
    /// The frame is damaged, or has an object of another kind than its event has.
    pub fn from_frame(frame: &[u8]) -> Result<Self, DecodeError> {
        let (mut event_type, mut raw) = (None, &[][..]);
        for field in Fields::of(frame) {
            match field? {
                (1, value) => {
                    EventType::read(&mut event_type, value).map_err(|error| error.within("type"))?;
                }
                (2, Value::Bytes(extension)) => raw = raw_extension(extension)?,
                _ => {}
            }
        }
        let event_type = event_type.ok_or_else(|| DecodeError::from(Problem::Missing).within("type"))?;
        Self::from_envelope(event_type, raw).map_err(|error| error.within("object"))
    }

    fn from_envelope(event_type: EventType, raw: &[u8]) -> Result<Self, DecodeError> {
        let envelope = Envelope::open(raw)?;
        Ok(match event_type {
            EventType::Added => Self::Added(envelope.read()?),
            EventType::Modified => Self::Modified(envelope.read()?),
            EventType::Deleted => Self::Deleted(envelope.read()?),
            EventType::Bookmark => Self::Bookmark(envelope.read()?),
            EventType::Error => Self::Error(Box::new(envelope.read()?)),
        })
    }

    /// The event of a line of JSON.
    ///
    /// # Errors
    /// The line is no JSON, or has an object of another kind than its event has.
    pub fn from_line(line: &[u8]) -> Result<Self, DecodeError> {
        let about: Line<TypeMeta> = serde_json::from_slice(line)?;
        Ok(match about.event_type {
            EventType::Added => Self::Added(object(&about.object, line)?),
            EventType::Modified => Self::Modified(object(&about.object, line)?),
            EventType::Deleted => Self::Deleted(object(&about.object, line)?),
            EventType::Bookmark => Self::Bookmark(object(&about.object, line)?),
            EventType::Error => Self::Error(Box::new(object(&about.object, line)?)),
        })
    }

    /// The event as a protobuf frame with its length.
    pub fn to_frame(&self) -> Vec<u8> {
        match self {
            Self::Added(object) => to_frame(EventType::Added, object),
            Self::Modified(change) => to_frame(EventType::Modified, change),
            Self::Deleted(object) => to_frame(EventType::Deleted, object),
            Self::Bookmark(object) => to_frame(EventType::Bookmark, object),
            Self::Error(status) => to_frame(EventType::Error, status.as_ref()),
        }
    }

    /// The event as a line of JSON, with its end.
    ///
    /// # Errors
    /// None that values of these types bring about.
    pub fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        match self {
            Self::Added(object) => to_line(EventType::Added, object),
            Self::Modified(change) => to_line(EventType::Modified, change),
            Self::Deleted(object) => to_line(EventType::Deleted, object),
            Self::Bookmark(object) => to_line(EventType::Bookmark, object),
            Self::Error(status) => to_line(EventType::Error, status.as_ref()),
        }
    }
}

fn object<T: WireObject>(meta: &TypeMeta, line: &[u8]) -> Result<T, DecodeError> {
    meta.expect::<T>()?;
    Ok(serde_json::from_slice::<Line<T>>(line)?.object)
}

/// What is in a RawExtension.
fn raw_extension(message: &[u8]) -> Result<&[u8], DecodeError> {
    let mut raw = &[][..];
    for field in Fields::of(message) {
        if let (1, Value::Bytes(bytes)) = field? {
            raw = bytes;
        }
    }
    Ok(raw)
}
