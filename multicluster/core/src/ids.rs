//! Who exports, and what: IDs of clusters and names of Services.

use std::fmt;
use std::str::FromStr;

/// A text that breaks the rules of what it is to name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a valid {kind}: {rule}")]
pub struct InvalidId {
    kind: &'static str,
    text: String,
    rule: &'static str,
}

/// The ID of a cluster, unique in a ClusterSet. It stands in names of objects and in label values, so it is a DNS
/// subdomain (RFC 1123) of up to 63 bytes. Webhooks let DNS labels in alone: those with dots are of upstream's members.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(Box<str>);

impl ClusterId {
    /// The ID as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClusterId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        if text.len() <= 63 && text.split('.').all(is_dns_label) {
            return Ok(Self(text.into()));
        }
        let rule = "lower-case letters, digits, '-' and '.', 63 bytes at most, beginning and ending with a letter or digit";
        Err(InvalidId { kind: "cluster ID", text: text.to_owned(), rule })
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Namespace and name of something that is exported, the same in every cluster; written `NAMESPACE/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespacedName {
    namespace: Box<str>,
    name: Box<str>,
}

impl NamespacedName {
    /// # Errors
    /// Unless both are DNS labels (RFC 1123).
    pub fn new(namespace: &str, name: &str) -> Result<Self, InvalidId> {
        let check = |kind, text: &str| {
            let rule = "lower-case letters, digits and '-', 63 bytes at most, beginning and ending with a letter or digit";
            if is_dns_label(text) { Ok(()) } else { Err(InvalidId { kind, text: text.to_owned(), rule }) }
        };
        check("Namespace", namespace)?;
        check("name", name)?;
        Ok(Self { namespace: namespace.into(), name: name.into() })
    }

    /// The Namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name in it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

fn is_dns_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    text.len() <= 63
        && bytes.first().is_some_and(|byte| inner(*byte))
        && bytes.last().is_some_and(|byte| inner(*byte))
        && bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_id_fits_into_names_and_labels() {
        for id in ["east", "east-1", "1", "east.example.org", &"a".repeat(63)] {
            assert!(id.parse::<ClusterId>().is_ok(), "{id}");
        }
        for id in ["", "East", "-a", "a-", "a..b", "a_b", &"a".repeat(64)] {
            assert!(id.parse::<ClusterId>().is_err(), "{id}");
        }
    }

    #[test]
    fn an_invalid_name_says_what_is_wrong_with_it() {
        let error = NamespacedName::new("default", "a.b").unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"a.b\" is not a valid name: lower-case letters, digits and '-', 63 bytes at most, beginning and ending with a letter or digit"
        );
        assert_eq!(NamespacedName::new("default", "web").unwrap().to_string(), "default/web");
    }
}
