//! The entries of `antreaProxy.skipServices`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A Service that the agent does not serve.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SkippedService {
    /// By its name.
    Named {
        /// Its Namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// By one of its ClusterIPs.
    ClusterIp(IpAddr),
}

/// Text that is neither a name nor an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no Service; wanted are NAMESPACE/NAME, as in kube-system/kube-dns, or a ClusterIP")]
pub struct InvalidSkippedService;

impl FromStr for SkippedService {
    type Err = InvalidSkippedService;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(ip) = text.parse() {
            return Ok(Self::ClusterIp(ip));
        }
        match text.split_once('/') {
            Some((namespace, name)) if is_label(namespace) && is_label(name) => {
                Ok(Self::Named { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(InvalidSkippedService),
        }
    }
}

impl fmt::Display for SkippedService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named { namespace, name } => write!(f, "{namespace}/{name}"),
            Self::ClusterIp(ip) => ip.fmt(f),
        }
    }
}

/// RFC 1123 §2.1, as Kubernetes has it for names of Namespaces and Services.
pub(super) fn is_label(text: &str) -> bool {
    let inside = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
    text.len() <= 63
        && !text.is_empty()
        && text.bytes().all(inside)
        && !text.starts_with('-')
        && !text.ends_with('-')
}
