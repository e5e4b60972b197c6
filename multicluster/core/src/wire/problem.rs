//! What is wrong with part of an object. The rest of it counts nevertheless.

use std::fmt;

/// A field that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where, as `spec.service.serviceSpec.ports[1].port`.
    pub path: String,
    /// What is wrong, and what would be right.
    pub reason: String,
}

impl Problem {
    pub(crate) fn new(path: impl Into<String>, reason: impl fmt::Display) -> Self {
        Self { path: path.into(), reason: reason.to_string() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}
