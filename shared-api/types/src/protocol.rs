//! The transport protocols of Services and policies.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A transport protocol with ports, named as in Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Protocol {
    /// RFC 9293.
    #[serde(rename = "TCP")]
    Tcp,
    /// RFC 768.
    #[serde(rename = "UDP")]
    Udp,
    /// RFC 9260.
    #[serde(rename = "SCTP")]
    Sctp,
}

impl Protocol {
    /// The number in IP headers (IANA).
    pub const fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
            Self::Sctp => 132,
        }
    }
}

/// A text that names no protocol.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no protocol; it is one of: TCP, UDP, SCTP")]
pub struct UnknownProtocol(String);

impl FromStr for Protocol {
    type Err = UnknownProtocol;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "TCP" => Ok(Self::Tcp),
            "UDP" => Ok(Self::Udp),
            "SCTP" => Ok(Self::Sctp),
            _ => Err(UnknownProtocol(text.to_owned())),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_is_read_as_it_is_written() {
        for protocol in [Protocol::Tcp, Protocol::Udp, Protocol::Sctp] {
            assert_eq!(protocol.to_string().parse(), Ok(protocol));
        }
        assert_eq!(
            "tcp".parse::<Protocol>().unwrap_err().to_string(),
            "\"tcp\" is no protocol; it is one of: TCP, UDP, SCTP"
        );
    }
}
