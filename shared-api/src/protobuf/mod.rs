//! Protobuf as Kubernetes speaks it (protocol buffers, version 2): a reader, a writer that goes backwards, and the
//! envelope around objects.
//!
//! A type says its field numbers in a table (`message!`); how a field is written follows from its Rust type, as it
//! follows from the Go type upstream: strings, numbers and messages always, `Option` when there is one, each of a `Vec`.
//! Types are not recursive, so that nothing nests deeper than they do; what is read is never larger than a fixed multiple
//! of what was received.

mod envelope;
mod error;
mod field;
mod frames;
mod ip;
mod message;
mod reader;
mod time;
mod writer;

pub(crate) use envelope::write_enveloped;
pub use envelope::{Envelope, MEDIA_TYPE, WATCH_MEDIA_TYPE, decode, encode};
pub use error::{DecodeError, Problem};
pub use field::Field;
pub(crate) use field::text;
pub use frames::{Frames, LONGEST_FRAME};
pub(crate) use ip::{from_bytes as ip_from_bytes, network, to_bytes as ip_to_bytes};
pub use message::Message;
pub(crate) use message::{finish, message, read_nested, write_nested};
pub use reader::{Fields, Value};
pub(crate) use time::{read_time, write_time};
pub use writer::{WireType, Writer};
