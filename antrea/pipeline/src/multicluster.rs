//! What the flows of Multi-cluster are made of: what this Node is for the ClusterSet, and the other clusters of it.
//!
//! Connections between clusters are IPv4's. A Pod's Node sends them to the Gateway of its cluster, that one to the Gateway
//! of the other cluster, both through the tunnel port and to [`VIRTUAL_MAC`].

use std::net::{IpAddr, Ipv4Addr};

use antrea_types::MacAddr;
use ipnet::Ipv4Net;

/// The destination of packets between clusters in the tunnel. Those within a cluster have
/// [`antrea_types::GLOBAL_VIRTUAL_MAC`].
pub const VIRTUAL_MAC: MacAddr = MacAddr([0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xf0]);

/// Whether Pods reach other clusters through Gateways (`multicluster.enableGateway`). It needs a tunnel port and the
/// Node's own proxy: a host would not know the addresses of other clusters' Services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multicluster {
    /// They do not.
    Off,
    /// They do, as soon as the cluster has a Gateway.
    On,
}

/// What this Node does with connections between clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GatewayRole {
    /// Sends them to the Gateway of its cluster.
    Regular {
        /// The Gateway's end of the tunnel inside the cluster (`internalIP`).
        gateway: IpAddr,
    },
    /// Sends them there, too, and is the next Gateway: those of other clusters can ask it already whether it is there.
    Standby {
        /// As of a regular Node.
        gateway: IpAddr,
        /// The address that it will have as the Gateway.
        address: Ipv4Addr,
    },
    /// Is the Gateway.
    Gateway {
        /// The address that other clusters see, as the end of the tunnel and as the source of connections (`gatewayIP`).
        address: Ipv4Addr,
        /// What it lets them in to.
        admits: Admits,
    },
}

/// What other clusters may open connections to through a Gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Admits {
    /// Every Service, Pod and Node, as far as policies let them: nobody says what is exported.
    Everything,
    /// The networks of [`crate::Pipeline::exported_flows`], and nothing else.
    Listed,
}

impl GatewayRole {
    /// The far end of the tunnel that packets to another cluster's Gateway leave by.
    pub(crate) const fn tunnel_to(&self, remote: Ipv4Addr) -> IpAddr {
        match self.other_gateway() {
            Some(gateway) => gateway,
            None => IpAddr::V4(remote),
        }
    }

    /// The address that other clusters know this Node by.
    pub const fn address(&self) -> Option<Ipv4Addr> {
        match self {
            Self::Regular { .. } => None,
            Self::Standby { address, .. } | Self::Gateway { address, .. } => Some(*address),
        }
    }

    /// The Gateway that this Node sends to; none where it is that itself.
    pub(crate) const fn other_gateway(&self) -> Option<IpAddr> {
        match self {
            Self::Regular { gateway } | Self::Standby { gateway, .. } => Some(*gateway),
            Self::Gateway { .. } => None,
        }
    }
}

/// Another cluster. No two clusters share an address, and none has one of this cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RemoteCluster {
    /// The networks of its Services and, for connections between Pods, of its Pods.
    pub networks: Vec<Ipv4Net>,
    /// The Gateway that connections to it go to.
    pub gateway: Ipv4Addr,
    /// Gateways that its own connections may come from beside that one: they are being replaced.
    pub former_gateways: Vec<Ipv4Addr>,
}

/// A network of Pods that packets of this cluster reach without a tunnel. Those of other clusters come to them through the
/// tunnel all the same, and only so does their Node know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UntunnelledPods {
    /// The network; a Pod's address where Nodes have no networks of their own.
    pub pods: Ipv4Net,
    /// The end of the tunnel of the Node that has them.
    pub node: IpAddr,
}
