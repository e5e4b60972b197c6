//! UUIDs, by which OVSDB names its rows.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

/// The identity of a row (RFC 7047 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid(u128);

/// Text that is not a UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a UUID: 32 hexadecimal digits in groups of 8-4-4-4-12 are wanted")]
pub struct InvalidUuid(String);

impl Uuid {
    /// The UUID of no row and no transaction.
    pub(crate) const ZERO: Self = Self(0);

    /// As a reference in a transaction (RFC 7047 §5.1, `<uuid>`).
    pub(crate) fn reference(self) -> Value {
        json!(["uuid", self.to_string()])
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0;
        let (a, b, c) = (bits >> 96, (bits >> 80) & 0xffff, (bits >> 64) & 0xffff);
        let (d, e) = ((bits >> 48) & 0xffff, bits & 0xffff_ffff_ffff);
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Uuid {
    type Err = InvalidUuid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidUuid(text.to_owned());
        let lengths: Vec<usize> = text.split('-').map(str::len).collect();
        if lengths != [8, 4, 4, 4, 12] || text.contains('+') {
            return Err(invalid());
        }
        u128::from_str_radix(&text.replace('-', ""), 16).map(Self).map_err(|_| invalid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_read_and_written_alike() {
        for text in ["8e97b81c-74ff-4456-b3f2-17d7f3d8b268", "00000000-0000-0000-0000-000000000000"] {
            assert_eq!(text.parse::<Uuid>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in
            ["", "8e97b81c", "8e97b81c74ff4456b3f217d7f3d8b268", "8e97b81c-74ff-4456-b3f2-17d7f3d8b26g"]
        {
            assert!(text.parse::<Uuid>().is_err(), "{text}");
        }
    }
}
