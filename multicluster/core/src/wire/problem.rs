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

/// The most problems of one object that are kept: more do not fit into the message that tells its exporter.
const MOST: usize = 100;

/// What is wrong with parts of one object.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    pub(super) fn push(&mut self, problem: Problem) {
        if self.0.len() < MOST {
            self.0.push(problem);
        }
    }

    pub(super) fn extend(&mut self, problems: impl IntoIterator<Item = Problem>) {
        problems.into_iter().for_each(|problem| self.push(problem));
    }

    pub(super) fn into_vec(self) -> Vec<Problem> {
        self.0
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}
