//! Names of Nodes, Pods and network interfaces.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A name that breaks the rules of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a valid {kind}: {rule}")]
pub struct InvalidName {
    kind: &'static str,
    name: String,
    rule: &'static str,
}

macro_rules! text_newtype {
    ($(#[$documentation:meta])* $name:ident, $kind:literal, $rule:literal, $valid:expr) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let valid: fn(&str) -> bool = $valid;
                if valid(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(InvalidName { kind: $kind, name: text.to_owned(), rule: $rule })
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_newtype!(
    /// The name of a Node: a DNS subdomain (RFC 1123).
    NodeName,
    "Node name",
    "lower-case letters, digits, '-' and '.', 253 bytes at most, beginning and ending with a letter or digit",
    is_dns_subdomain
);

text_newtype!(
    /// The name of a network interface, as the Linux kernel takes it (`dev_valid_name`).
    InterfaceName,
    "interface name",
    "1 to 15 bytes without '/', ':' and white space, and neither '.' nor '..'",
    is_interface_name
);

text_newtype!(
    /// The UID of a Pod as its Node knows it: a UUID, or what the kubelet calls a Pod that runs from a file.
    PodUid,
    "Pod UID",
    "1 to 64 letters, digits and '-'",
    is_pod_uid
);

/// Namespace and name of a Pod, written `NAMESPACE/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PodRef {
    /// The Namespace.
    pub namespace: String,
    /// The Pod's own name.
    pub name: String,
}

impl fmt::Display for PodRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

fn is_dns_subdomain(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(|byte| inner(*byte))
            && bytes.last().is_some_and(|byte| inner(*byte))
            && bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

fn is_pod_uid(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_interface_name(text: &str) -> bool {
    (1..=15).contains(&text.len())
        && text != "."
        && text != ".."
        && !text.bytes().any(|byte| matches!(byte, b'/' | b':' | 0) || byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_names_are_dns_subdomains() {
        for name in ["a", "node-1", "node-1.example.org", "1"] {
            assert!(name.parse::<NodeName>().is_ok(), "{name}");
        }
        for name in ["", "Node", "-a", "a-", "a..b", "a_b", &"a".repeat(254)] {
            assert!(name.parse::<NodeName>().is_err(), "{name}");
        }
    }

    #[test]
    fn interface_names_are_what_the_kernel_takes() {
        for name in ["eth0", "antrea-gw0", "nginx-a1b2c3"] {
            assert!(name.parse::<InterfaceName>().is_ok(), "{name}");
        }
        for name in ["", ".", "..", "a b", "a/b", "a:b", "sixteen-bytes-xx"] {
            assert!(name.parse::<InterfaceName>().is_err(), "{name}");
        }
    }

    #[test]
    fn an_invalid_name_says_which_rule_it_breaks() {
        let error = "a/b".parse::<InterfaceName>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"a/b\" is not a valid interface name: 1 to 15 bytes without '/', ':' and white space, and neither '.' nor '..'"
        );
    }
}
