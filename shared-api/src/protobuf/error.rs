//! What can be wrong with what a peer sent.

use std::fmt;

/// Why an object could not be read, and which of its fields is to blame.
#[derive(Debug, thiserror::Error)]
pub struct DecodeError {
    /// The way to the field, as `rules[3].direction`; empty for the object itself.
    path: String,
    #[source]
    problem: Problem,
}

/// What is wrong with a field.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// It ends before it should.
    #[error("it is cut off")]
    Truncated,
    /// A number of more than 64 bits.
    #[error("a number has more than 64 bits")]
    TooLong,
    /// A field number or wire type that protobuf version 2 does not have.
    #[error("{0} is no tag of a field")]
    Tag(u64),
    /// It is encoded as something else than its type.
    #[error("it is not encoded as its type is")]
    WireType,
    /// It is not there, and there is no safe default.
    #[error("it is missing")]
    Missing,
    /// A text that is not UTF-8.
    #[error("it is not UTF-8")]
    Text,
    /// A number that the field cannot have.
    #[error("{0} is out of range")]
    Range(i128),
    /// A number that JSON does not have.
    #[error("it is no finite number")]
    NotFinite,
    /// A word that this version does not know.
    #[error("{word:?} is none of {}", known.join(", "))]
    Word {
        /// What was sent.
        word: String,
        /// What is known.
        known: &'static [&'static str],
    },
    /// An address of a length that no family has.
    #[error("an IP address has 4 or 16 bytes, not {0}")]
    Address(usize),
    /// A prefix that is longer than addresses of its family.
    #[error("/{0} is no prefix length of its family")]
    PrefixLength(i64),
    /// It does not begin with `k8s` and a zero byte.
    #[error("it is no protobuf of Kubernetes")]
    Magic,
    /// It is compressed, or otherwise encoded once more.
    #[error("its content encoding {0:?} is not supported")]
    ContentEncoding(String),
    /// It is an object of another kind.
    #[error("it is {found}, not {wanted}")]
    Kind {
        /// Group, version and kind that were sent.
        found: String,
        /// Group, version and kind that were expected.
        wanted: String,
    },
    /// A frame of a watch that is longer than any object may be.
    #[error("a frame of {0} bytes is longer than the {max} that are allowed", max = super::LONGEST_FRAME)]
    Frame(usize),
    /// It is no JSON, or not the JSON of its type.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl DecodeError {
    /// The same problem as one of a field of that name. Rust's names become those of the API.
    pub(crate) fn within(mut self, field: &str) -> Self {
        let mut path = lower_camel_case(field);
        if !self.path.is_empty() && !self.path.starts_with('[') {
            path.push('.');
        }
        path.push_str(&self.path);
        self.path = path;
        self
    }

    /// The same problem as one of an item of a list.
    pub(crate) fn at(mut self, index: usize) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path = format!("[{index}]{dot}{}", self.path);
        self
    }

    /// What is wrong.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl From<Problem> for DecodeError {
    fn from(problem: Problem) -> Self {
        Self { path: String::new(), problem }
    }
}

impl From<serde_json::Error> for DecodeError {
    fn from(error: serde_json::Error) -> Self {
        Problem::Json(error).into()
    }
}

/// The problem in words: its cause is part of them, since neither makes sense without the other.
impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.path, self.problem)
    }
}

fn lower_camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    for (index, word) in name.split('_').enumerate() {
        match word.chars().next() {
            Some(first) if index > 0 => {
                camel.push(first.to_ascii_uppercase());
                camel.push_str(word.get(first.len_utf8()..).unwrap_or_default());
            }
            _ => camel.push_str(word),
        }
    }
    camel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_where_it_is() {
        let error = DecodeError::from(Problem::Missing).within("direction").at(3).within("rules");
        assert_eq!(error.to_string(), "rules[3].direction: it is missing");
        let error = DecodeError::from(Problem::Text).at(0).within("address_groups").within("from");
        assert_eq!(error.to_string(), "from.addressGroups[0]: it is not UTF-8");
        assert_eq!(DecodeError::from(Problem::Magic).to_string(), "it is no protobuf of Kubernetes");
    }
}
