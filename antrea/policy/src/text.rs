//! Text that many objects share: names of Nodes and Namespaces.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// Immutable text; a copy is a pointer to the same bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Arc<str>);

impl Text {
    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where the bytes lie: the same number for all copies of one text, which makes them cheap to group.
    pub fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::from("")
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
