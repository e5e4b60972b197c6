//! What flows are made of: the Node itself, its Pods, its peers.

use std::collections::BTreeSet;
use std::net::IpAddr;

use antrea_types::{DualStack, IpFamily, MacAddr, NodeName, OfPort, TunnelTraffic};
use ipnet::IpNet;

use crate::multicluster::Multicluster;
use crate::service::{DirectServerReturn, ServiceProxy, Services};

/// The Node that the flows are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineConfig {
    /// The Node's gateway; the families that it has an address of are the families of the pipeline.
    pub gateway: Gateway,
    /// The way to other Nodes; none where they reach one another without encapsulation.
    pub tunnel: Option<Tunnel>,
    /// The networks that this Node's Pods get their addresses from.
    pub local_pod_cidrs: DualStack<IpNet>,
    /// Who serves Services.
    pub services: Services,
    /// Whether there are other clusters.
    pub multicluster: Multicluster,
    /// Whether NetworkPolicies are enforced.
    pub policies: PolicyEnforcement,
}

/// Whether NetworkPolicies are enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyEnforcement {
    /// They are not; there are no tables for them.
    Off,
    /// They are.
    On {
        /// How the Node's own packets are known, which no policy keeps from its Pods.
        node_traffic: NodeTraffic,
    },
}

/// How packets that the Node itself sends to its Pods are told from those that it forwards. Never by their address: what
/// comes from outside may have that of the gateway, too, when kube-proxy has masqueraded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeTraffic {
    /// By bit 31 of the packet's mark, which the kernel hands over (datapath `system`).
    PacketMark,
    /// By [`HOST_LOCAL_MAC`], into which the host turns the mark, since a tap device loses it (datapath `netdev`).
    SourceMac,
}

/// Whose connection tracking there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datapath {
    /// The kernel's (`system`).
    Kernel,
    /// That of ovs-vswitchd (`netdev`). It must see no fragments ([`crate::tables::pipeline_root_classifier::fragments`]) and
    /// no translations that change nothing ([`crate::tables::snat`]).
    Userspace,
}

/// The source MAC of the Node's own packets where they cannot keep their mark: `02:6d` and the mark, big-endian.
pub const HOST_LOCAL_MAC: MacAddr = MacAddr([0x02, 0x6d, 0x80, 0x00, 0x00, 0x00]);

impl PipelineConfig {
    /// Whose connection tracking there is. Where policies are not enforced, nothing is done for the userspace datapath.
    pub const fn datapath(&self) -> Datapath {
        match self.policies {
            PolicyEnforcement::On { node_traffic: NodeTraffic::SourceMac } => Datapath::Userspace,
            PolicyEnforcement::On { node_traffic: NodeTraffic::PacketMark } | PolicyEnforcement::Off => {
                Datapath::Kernel
            }
        }
    }

    /// The IP families in use.
    pub fn families(&self) -> impl Iterator<Item = IpFamily> {
        self.gateway.ips.families()
    }

    /// What the Node's own proxy does, if it has one.
    pub const fn proxy(&self) -> Option<&ServiceProxy> {
        match &self.services {
            Services::ByProxy(proxy) => Some(proxy),
            Services::ByHost { .. } => None,
        }
    }

    /// Whether endpoints may answer clients directly.
    pub fn direct_server_return(&self) -> DirectServerReturn {
        self.proxy().map_or(DirectServerReturn::Off, |proxy| proxy.direct_server_return)
    }
}

/// The interface between Pods and their Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// Its port on the bridge.
    pub of_port: OfPort,
    /// Its MAC address.
    pub mac: MacAddr,
    /// Its address in each of the Node's Pod networks.
    pub ips: DualStack<IpAddr>,
}

/// The way between Nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Its port on the bridge.
    pub of_port: OfPort,
    /// What it looks like outside of the bridge.
    pub traffic: TunnelTraffic,
}

impl Tunnel {
    /// The family of the addresses that carry packets of family `inner` between Nodes.
    pub const fn outer(self, inner: IpFamily) -> IpFamily {
        match self.traffic {
            TunnelTraffic::Udp(_) => inner,
            TunnelTraffic::Gre => IpFamily::V4,
        }
    }
}

/// A Pod's interface on the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodInterface {
    /// Its port on the bridge.
    pub of_port: OfPort,
    /// The MAC address of its end in the Pod.
    pub mac: MacAddr,
    /// The Pod's addresses.
    pub ips: DualStack<IpAddr>,
}

/// Another Node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its name.
    pub node: NodeName,
    /// Its addresses, of either family: what it sends through the tunnel comes from one of them.
    pub addresses: BTreeSet<IpAddr>,
    /// Its Pod networks and the way to each.
    pub networks: DualStack<PeerNetwork>,
}

/// A Pod network of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerNetwork {
    /// The network.
    pub pod_cidr: IpNet,
    /// The address of the peer's gateway in it.
    pub gateway_ip: IpAddr,
    /// How packets get there.
    pub route: PeerRoute,
}

/// How packets get to a peer's Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerRoute {
    /// Through the tunnel port, to this transport address.
    Tunnel {
        /// The peer's end of the tunnel, of either family.
        remote: IpAddr,
    },
    /// Through the gateway; the host's routes take them on.
    Host,
}
