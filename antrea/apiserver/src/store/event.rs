//! An event of a watch: encoded when the first watcher needs it, and then the same bytes for all.

use std::fmt;
use std::sync::OnceLock;

use hyper::body::Bytes;

use super::Content;

/// How a watcher wants its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// A line of JSON each.
    Json,
    /// A frame of Kubernetes' protobuf each.
    Protobuf,
}

/// Something that watchers are told.
pub struct Event {
    content: Content,
    line: OnceLock<Option<Bytes>>,
    frame: OnceLock<Option<Bytes>>,
}

impl Event {
    pub(crate) const fn new(content: Content) -> Self {
        Self { content, line: OnceLock::new(), frame: OnceLock::new() }
    }

    /// The event as it is sent; nothing if it cannot be, which ends the watch.
    pub fn encoded(&self, encoding: Encoding) -> Option<Bytes> {
        let slot = match encoding {
            Encoding::Json => &self.line,
            Encoding::Protobuf => &self.frame,
        };
        slot.get_or_init(|| self.content.encode(encoding).map(Bytes::from)).clone()
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.content.encode(Encoding::Json).unwrap_or_default();
        f.write_str(String::from_utf8_lossy(&line).trim_end())
    }
}
