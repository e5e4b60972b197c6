//! The name of a group: a UUID of version 5 (RFC 9562) of its selector, so that equal selectors share one group.

use std::fmt;
use std::str::FromStr;

use sha1::{Digest, Sha1};

/// e4f24a48-ca1f-4d5b-819c-ea7632b22115, the namespace that upstream hashes selectors in.
const NAMESPACE: [u8; 16] =
    [0xe4, 0xf2, 0x4a, 0x48, 0xca, 0x1f, 0x4d, 0x5b, 0x81, 0x9c, 0xea, 0x76, 0x32, 0xb2, 0x21, 0x15];

/// Where a UUID's text has hyphens.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// Where it has the two digits of each byte.
const DIGITS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// The value of each digit in lower case; 16 for what is none.
const DIGIT: [u8; 256] = {
    let mut values = [16; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// The name of an AddressGroup or AppliedToGroup. One of each may have the same name: that of their selector.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GroupName([u8; 16]);

/// A text that is no name of a group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a group: a UUID in lower case, like 769990b2-cd91-5d0b-b64b-22765651accb")]
pub struct InvalidGroupName(String);

impl GroupName {
    /// The name for a normalised selector, like `namespace=team-x And podSelector=app=c`.
    pub fn of_selector(normalised: &str) -> Self {
        Self::of_parts(&[normalised])
    }

    /// The same for a text in several parts.
    pub fn of_parts(normalised: &[&str]) -> Self {
        let mut hasher = Sha1::new_with_prefix(NAMESPACE);
        normalised.iter().for_each(|part| hasher.update(part));
        let digest = hasher.finalize();
        let mut bytes = [0; 16];
        for (byte, hashed) in bytes.iter_mut().zip(digest) {
            *byte = hashed;
        }
        bytes[6] = (bytes[6] & 0x0f) | 0x50;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Self(bytes)
    }
}

impl FromStr for GroupName {
    type Err = InvalidGroupName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        read_uuid(text).map(Self).ok_or_else(|| InvalidGroupName(text.to_owned()))
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_uuid(&self.0, f)
    }
}

impl fmt::Debug for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_uuid(&self.0, f)
    }
}

pub(crate) fn write_uuid(bytes: &[u8; 16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            f.write_str("-")?;
        }
        write!(f, "{byte:02x}")?;
    }
    Ok(())
}

/// Reads only what [`write_uuid`] writes: lower case, with hyphens.
pub(crate) fn read_uuid(text: &str) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.as_bytes().try_into().ok()?;
    if HYPHENS.iter().any(|at| text[*at] != b'-') {
        return None;
    }
    let mut bytes = [0; 16];
    let mut wrong = 0;
    for (byte, at) in bytes.iter_mut().zip(DIGITS) {
        let (high, low) = (DIGIT[usize::from(text[at])], DIGIT[usize::from(text[at + 1])]);
        wrong |= high | low;
        *byte = high << 4 | low & 0xf;
    }
    (wrong < 16).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(selector: &str, name: &str) {
        assert_eq!(GroupName::of_selector(selector).to_string(), name);
        assert_eq!(name.parse(), Ok(GroupName::of_selector(selector)));
    }

    #[test]
    fn selectors_have_the_names_that_upstream_gives_them() {
        check("namespace=team-x And podSelector=app=c", "769990b2-cd91-5d0b-b64b-22765651accb");
        check("namespace=team-x And podSelector=", "315cb2ed-4f0e-57f3-bf49-39ec2ac991c0");
        check("namespaceSelector=team=team-y", "11cb38ff-46f1-5616-8632-5f3c99034833");
    }

    #[test]
    fn what_is_no_uuid_is_no_name() {
        let error = "app=c".parse::<GroupName>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"app=c\" is not the name of a group: a UUID in lower case, like 769990b2-cd91-5d0b-b64b-22765651accb"
        );
    }
}
