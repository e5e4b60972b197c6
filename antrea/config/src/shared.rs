//! What both files have: how to reach the Kubernetes API, and how their own API is served.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use antrea_types::MinimumTls;

use crate::error::Problems;
use crate::modes::TlsMinVersion;
use crate::section::{Section, Setting, refuse, section};
pub(crate) use crate::values::{parsed, port};

section! {
    /// How to connect to an API server (`clientConnection`, `antreaClientConnection`). The names are in lower case
    /// because upstream's are.
    ClientConnection {
        kubeconfig: String = "kubeconfig", "";
        accept_content_types: String = "acceptcontenttypes", "";
        content_type: String = "contenttype", "";
        qps: f64 = "qps", 0.0;
        burst: i64 = "burst", 0;
    }
}

impl ClientConnection {
    /// The kubeconfig file; `None` for the credentials of the Pod.
    pub(crate) fn validate(mut self, path: &str, problems: &mut Problems) -> Option<PathBuf> {
        let kubeconfig = self.kubeconfig.take();
        self.allow_defaults_only(path, "limits and content types of the client cannot be chosen", problems);
        kubeconfig.map(|value| value.value).filter(|value| !value.is_empty()).map(PathBuf::from)
    }
}

/// The base URL of the Kubernetes API server (`kubeAPIServerOverride`), always with a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiServerAddress(String);

/// Text that is neither a host, nor a host and a port, nor a URL with TLS.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidApiServerAddress {
    /// It cannot be read.
    #[error("a host, HOST:PORT or an https URL is wanted, an IPv6 address in brackets")]
    Text,
    /// Whoever is on the way could read the token of the Pod, and change all that is read.
    #[error("without TLS everybody on the way could read the token that is sent along; use https")]
    WithoutTls,
}

impl ApiServerAddress {
    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ApiServerAddress {
    type Err = InvalidApiServerAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
        let rest = rest.trim_end_matches('/');
        let authority = rest.split('/').next().unwrap_or_default();
        if scheme == "http" {
            return Err(InvalidApiServerAddress::WithoutTls);
        }
        let valid_text = !rest.chars().any(|letter| letter.is_whitespace() || "?#@".contains(letter));
        if scheme == "https" && valid_text && is_authority(authority) {
            Ok(Self(format!("{scheme}://{rest}")))
        } else {
            Err(InvalidApiServerAddress::Text)
        }
    }
}

impl fmt::Display for ApiServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// RFC 3986 §3.2 without user information: host, optionally a port.
fn is_authority(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) if address.parse::<std::net::Ipv6Addr>().is_ok() => (address, port),
        Some(_) => return false,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let valid_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    !host.is_empty() && (port.is_empty() || port.strip_prefix(':').is_some_and(valid_port))
}

/// The oldest TLS version to serve. Versions before 1.2 are known, and not spoken.
pub(crate) fn tls_min_version(setting: &Setting<String>, problems: &mut Problems) -> MinimumTls {
    let version = parsed(setting, "tlsMinVersion", problems).unwrap_or(TlsMinVersion::Tls12);
    if let (TlsMinVersion::Tls10 | TlsMinVersion::Tls11, Some(value)) = (version, setting) {
        refuse(
            problems,
            "tlsMinVersion",
            value,
            "TLS 1.0 and 1.1 are not spoken (RFC 8996); allowed are VersionTLS12, VersionTLS13",
        );
    }
    match version {
        TlsMinVersion::Tls13 => MinimumTls::V1_3,
        TlsMinVersion::Tls10 | TlsMinVersion::Tls11 | TlsMinVersion::Tls12 => MinimumTls::V1_2,
    }
}

/// For whom tokens are that agents show antrea-controller.
pub(crate) const CONTROLLER_TOKEN_AUDIENCE: &str = "antrea-controller";

/// That audience; nothing where it is said to be none, which stands for the API server's tokens.
pub(crate) fn controller_token_audience(setting: &Setting<String>) -> Option<String> {
    let audience = setting.as_ref().map_or(CONTROLLER_TOKEN_AUDIENCE, |value| &value.value);
    Some(audience.to_owned()).filter(|audience| !audience.is_empty())
}
