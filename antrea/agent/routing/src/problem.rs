//! What keeps a peer's Pods from being reached. One peer's problem leaves the others alone.

use std::fmt;

use antrea_types::{IpFamily, NodeName};
use ipnet::IpNet;

/// Something wrong with a Node, as Kubernetes has it. Prints as a sentence without the Node's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// It has no Pod network yet.
    NoPodCidr,
    /// Text in `spec.podCIDRs` is not a network that has room for a gateway.
    InvalidPodCidr(String),
    /// An entry of the annotation `node.antrea.io/transport-addresses` is not an address.
    InvalidTransportAddress(String),
    /// It has no address that one of its Pod networks can be reached by.
    NoTransportAddress {
        /// The family of the Pod network.
        pods: IpFamily,
        /// The family of the address that is missing.
        outer: IpFamily,
    },
    /// It is this Node, and its Pod network overlaps with that of a Node that was there before, where others send to.
    OwnPodCidrTaken {
        /// Its network.
        cidr: IpNet,
        /// The other network.
        taken: IpNet,
        /// The Node that has it.
        by: NodeName,
    },
    /// Its Pod network overlaps with that of a Node that was there before.
    PodCidrTaken {
        /// Its network, which is not used.
        cidr: IpNet,
        /// The other network.
        taken: IpNet,
        /// The Node that has it.
        by: NodeName,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPodCidr => f.write_str("the Node has no Pod CIDR"),
            Self::InvalidPodCidr(text) => {
                write!(
                    f,
                    "{text:?} in spec.podCIDRs is not a network with room for Pods, such as 10.10.1.0/24"
                )
            }
            Self::InvalidTransportAddress(text) => {
                write!(
                    f,
                    "{text:?} in the annotation node.antrea.io/transport-addresses is not an IP address"
                )
            }
            Self::NoTransportAddress { pods, outer } => {
                write!(f, "the Node has an {pods} Pod CIDR but no {outer} address to reach it by")
            }
            Self::OwnPodCidrTaken { cidr, taken, by } => {
                write!(
                    f,
                    "the Pod CIDR {cidr} of this Node overlaps with {taken} of Node {by}, which had it before; \
                     remove this Node from the cluster and add it again"
                )
            }
            Self::PodCidrTaken { cidr, taken, by } => {
                write!(f, "the Pod CIDR {cidr} overlaps with {taken} of Node {by}, which keeps it")
            }
        }
    }
}
