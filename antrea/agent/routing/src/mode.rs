//! How packets between Pods of different Nodes travel.

use std::net::IpAddr;

use antrea_pipeline::PeerRoute;
use ipnet::IpNet;

/// What carries packets to the Pods of peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficMode {
    /// Always a tunnel.
    Encap,
    /// The host's routes, and those of the network between Nodes of different subnets.
    NoEncap,
    /// The host's routes within a subnet, a tunnel between subnets.
    Hybrid,
}

/// Whether a peer is a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    SameSubnet,
    OtherSubnet,
}

impl Distance {
    /// Of a peer from this Node's transport address, of the same family; unknown is far.
    pub(crate) fn of(peer: IpAddr, own: Option<&IpNet>) -> Self {
        if own.is_some_and(|own| own.contains(&peer)) { Self::SameSubnet } else { Self::OtherSubnet }
    }
}

impl TrafficMode {
    /// How the switch sends packets to a peer at `distance` whose transport address is `remote`.
    pub(crate) const fn route(self, remote: IpAddr, distance: Distance) -> PeerRoute {
        match (self, distance) {
            (Self::Encap, _) | (Self::Hybrid, Distance::OtherSubnet) => PeerRoute::Tunnel { remote },
            (Self::NoEncap, _) | (Self::Hybrid, Distance::SameSubnet) => PeerRoute::Host,
        }
    }

    /// Whether packets may enter a tunnel.
    pub(crate) const fn may_tunnel(self) -> bool {
        match self {
            Self::Encap | Self::Hybrid => true,
            Self::NoEncap => false,
        }
    }
}
