//! What is wrong with an object, by field. The rest of the object is used, so that nothing is open that it closes.

use std::fmt;

/// One field that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its path, like `spec.ingress[0].from[1].ipBlock.cidr`.
    pub field: String,
    /// Why not, and what follows.
    pub reason: String,
}

impl Problem {
    pub(crate) fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}
