//! What keeps connections between clusters from being made. One object's problem leaves the others alone.

use std::fmt;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use crate::claims::Claimant;

/// Something wrong with a Gateway or a ClusterInfoImport. Prints as a sentence without the object's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// Text is not the address of a Node.
    InvalidAddress {
        /// Where it stands.
        field: &'static str,
        /// The text.
        text: String,
    },
    /// Text is not a network.
    InvalidNetwork {
        /// Where it stands.
        field: &'static str,
        /// The text.
        text: String,
    },
    /// There is no Gateway.
    NoGateway,
    /// The Gateway has no IPv4 address.
    NoIpv4Gateway,
    /// A cluster names more Gateways than are used.
    TooManyGateways {
        /// So many are.
        most: usize,
    },
    /// A cluster names more networks than are reached.
    TooManyNetworks {
        /// Where they stand.
        field: &'static str,
        /// So many are.
        most: usize,
    },
    /// There is no network that connections could go to.
    NoIpv4Network,
    /// A network overlaps with one that somebody had before.
    NetworkTaken {
        /// The network, which is not used.
        network: Ipv4Net,
        /// The other network.
        taken: Ipv4Net,
        /// Who has it.
        by: Claimant,
    },
    /// The Gateways of the two clusters carry packets in different tunnels.
    TunnelDiffers {
        /// The one of this cluster.
        own: String,
        /// That of the other cluster.
        theirs: String,
    },
    /// A Gateway's address is one that somebody had before.
    GatewayTaken {
        /// The address, which is not used.
        address: Ipv4Addr,
        /// The network that it is in.
        taken: Ipv4Net,
        /// Who has it.
        by: Claimant,
    },
}

impl Problem {
    /// The `reason` of an Event about it.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::InvalidAddress { .. } => "InvalidAddress",
            Self::InvalidNetwork { .. } => "InvalidCIDR",
            Self::NoGateway => "NoGateway",
            Self::NoIpv4Gateway => "NoIPv4Gateway",
            Self::TooManyGateways { .. } => "TooManyGateways",
            Self::TooManyNetworks { .. } => "TooManyCIDRs",
            Self::NoIpv4Network => "NoIPv4CIDR",
            Self::NetworkTaken { .. } => "CIDROverlaps",
            Self::TunnelDiffers { .. } => "TunnelDiffers",
            Self::GatewayTaken { .. } => "GatewayAddressTaken",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidAddress { field, text } => {
                write!(f, "{field}: {text:?} is not an IP address that a Node is reached by")
            }
            Self::InvalidNetwork { field, text } => {
                write!(f, "{field}: {text:?} is not a network such as 10.96.0.0/12")
            }
            Self::NoGateway => f.write_str(
                "the cluster has no Gateway: annotate one of its Nodes with multicluster.antrea.io/gateway=true",
            ),
            Self::NoIpv4Gateway => f.write_str(
                "the Gateway has no IPv4 address, and connections between clusters are IPv4: give its Node one, \
                 or the annotation multicluster.antrea.io/gateway-ip",
            ),
            Self::TooManyGateways { most } => {
                write!(f, "spec.gatewayInfos: the first {most} Gateways are used, and no others")
            }
            Self::TooManyNetworks { field, most } => {
                write!(f, "{field}: the first {most} networks are reached, and no others")
            }
            Self::NoIpv4Network => {
                f.write_str("the cluster names no IPv4 network, and connections between clusters are IPv4")
            }
            Self::NetworkTaken { network, taken, by } => write!(
                f,
                "{network} is not reached, as it overlaps with {taken} {}: clusters need networks of their own",
                whose(by)
            ),
            Self::TunnelDiffers { own, theirs } => write!(
                f,
                "tunnels are {own} here and {theirs} there: set one tunnelType and tunnelPort in all clusters"
            ),
            Self::GatewayTaken { address, taken, by } => write!(
                f,
                "the Gateway {address} is not used, as its address is in {taken} {}: set another one with the \
                 annotation multicluster.antrea.io/gateway-ip of its Node",
                whose(by)
            ),
        }
    }
}

fn whose(claimant: &Claimant) -> String {
    match claimant {
        Claimant::Nobody => "that nobody may have".to_owned(),
        Claimant::OwnCluster => "of this cluster".to_owned(),
        Claimant::OtherCluster(id) => format!("of cluster {id}"),
    }
}
