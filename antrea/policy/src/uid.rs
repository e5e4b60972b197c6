//! The UID of a Kubernetes object, in 16 bytes where it is a UUID, as all are that an API server makes.

use std::fmt;

use crate::group_name::{read_uuid, write_uuid};

/// The UID of an object. It prints as it was read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(Repr);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Repr {
    Uuid([u8; 16]),
    Other(Box<str>),
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        Self(read_uuid(text).map_or_else(|| Repr::Other(text.into()), Repr::Uuid))
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Uuid(bytes) => write_uuid(bytes, f),
            Repr::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_prints_as_it_was_read() {
        for text in [
            "1039ae46-1d6b-4ca7-ad08-d14831636b2e",
            "1039AE46-1d6b-4ca7-ad08-d14831636b2e",
            "1039ae461d6b4ca7ad08d14831636b2e----",
            "mine",
            "",
        ] {
            assert_eq!(Uid::from(text).to_string(), text);
        }
    }
}
