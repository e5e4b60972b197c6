//! What users have to be told of their Services.

use std::fmt;
use std::net::IpAddr;

use antrea_pipeline::service::Destination;
use antrea_types::{IpFamily, Protocol};

use crate::plan::MAX_ENDPOINTS;
use crate::service_name::ServiceName;
use crate::source_ranges::MAX_SOURCE_RANGES;

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
    /// Some source ranges of its load balancer cannot be read.
    InvalidSourceRange {
        /// How the first of them begins.
        text: Box<str>,
        /// How many there are.
        count: usize,
    },
    /// There are more source ranges of a family than flows for them.
    TooManySourceRanges {
        /// The family.
        family: IpFamily,
        /// How many there are.
        count: usize,
    },
    /// Its load balancer has addresses of a family, and source ranges of the other one only.
    NoSourceRange(IpFamily),
}

impl Problem {
    /// The `reason` of an Event about it.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::RefusedEndpoint(_) => "EndpointAddressRefused",
            Self::Taken { .. } => "ServiceAddressTaken",
            Self::TooManyEndpoints(_) => "TooManyEndpoints",
            Self::NoGroup => "TooManyServices",
            Self::InvalidSourceRange { .. } => "SourceRangeRefused",
            Self::TooManySourceRanges { .. } => "TooManySourceRanges",
            Self::NoSourceRange(_) => "NoSourceRange",
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
            Self::InvalidSourceRange { text, count } => write!(
                f,
                "{count} of loadBalancerSourceRanges admit nobody, because they are no networks, such as {text:?}"
            ),
            Self::TooManySourceRanges { family, count } => write!(
                f,
                "of {count} networks of {family} in loadBalancerSourceRanges only the first {MAX_SOURCE_RANGES} by address admit anybody"
            ),
            Self::NoSourceRange(family) => write!(
                f,
                "loadBalancerSourceRanges has no network of {family}: nobody reaches the load balancer's addresses of that family"
            ),
        }
    }
}
