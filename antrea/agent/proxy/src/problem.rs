//! What users have to be told of their Services.

use std::fmt;
use std::net::IpAddr;

use antrea_pipeline::service::Destination;
use antrea_types::Protocol;

use crate::plan::MAX_ENDPOINTS;
use crate::service_name::ServiceName;

/// Why part of a Service is not served as asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// An endpoint has an address that packets are never sent to.
    RefusedEndpoint(IpAddr),
    /// Another Service has an address and port of this one.
    Taken {
        /// The protocol.
        protocol: Protocol,
        /// The address and port.
        destination: Destination,
        /// Who has it.
        owner: ServiceName,
    },
    /// A port has more endpoints than a group can have.
    TooManyEndpoints(usize),
    /// There are more groups of endpoints than numbers for them.
    NoGroup,
}

impl Problem {
    /// The `reason` of an Event about it.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::RefusedEndpoint(_) => "EndpointAddressRefused",
            Self::Taken { .. } => "ServiceAddressTaken",
            Self::TooManyEndpoints(_) => "TooManyEndpoints",
            Self::NoGroup => "TooManyServices",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RefusedEndpoint(address) => write!(
                f,
                "endpoint {address} gets no connections: it is a loopback, link-local, multicast or unspecified address"
            ),
            Self::Taken { protocol, destination: Destination::Address(address), owner } => {
                write!(f, "{protocol} {address} is served for Service {owner}, which had it first")
            }
            Self::Taken { protocol, destination: Destination::NodePort { port, .. }, owner } => {
                write!(f, "{protocol} node port {port} is served for Service {owner}, which had it first")
            }
            Self::TooManyEndpoints(count) => write!(
                f,
                "a port has {count} endpoints, of which only the first {MAX_ENDPOINTS} by address get connections"
            ),
            Self::NoGroup => {
                f.write_str("there are too many Services: their groups of endpoints have no numbers left")
            }
        }
    }
}
