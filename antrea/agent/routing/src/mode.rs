//! How packets between Pods of different Nodes travel.

use std::net::IpAddr;

use antrea_pipeline::PeerRoute;
use antrea_types::IpFamily;
use ipnet::IpNet;

use crate::tunnel::TunnelProtocol;

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
    pub(crate) fn of(peer: Option<&IpAddr>, own: Option<&IpNet>) -> Self {
        let near = peer.zip(own).is_some_and(|(peer, own)| own.contains(peer));
        if near { Self::SameSubnet } else { Self::OtherSubnet }
    }
}

impl TrafficMode {
    /// The family of the address by which packets of family `inner` reach a peer at `distance`.
    pub(crate) const fn outer(self, tunnel: TunnelProtocol, distance: Distance, inner: IpFamily) -> IpFamily {
        match (self, distance) {
            (Self::Encap, _) | (Self::Hybrid, Distance::OtherSubnet) => tunnel.outer(inner),
            (Self::NoEncap, _) | (Self::Hybrid, Distance::SameSubnet) => inner,
        }
    }

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
