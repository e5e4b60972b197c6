//! What the tables of Services are filled from: frontends, groups of endpoints, endpoints.

use std::net::{IpAddr, SocketAddr};

use antrea_openflow::{GroupId, Match, Transport};
use antrea_types::{DualStack, IpFamily, Protocol};
use ipnet::IpNet;

use crate::fields::TO_NODE_PORT_ADDRESS;

/// Who serves the cluster's Services on a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Services {
    /// kube-proxy, on the host.
    ByHost {
        /// The networks of their addresses; empty where nothing is known of them.
        cidrs: DualStack<IpNet>,
    },
    /// The agent, in the pipeline.
    ByProxy(ServiceProxy),
}

/// What the Node's own proxy serves beside ClusterIPs, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceProxy {
    /// Who serves NodePorts, and what else comes to Services from outside the cluster.
    pub external: ExternalTraffic,
    /// Whether endpoints may answer external clients directly.
    pub direct_server_return: DirectServerReturn,
    /// The packets a second that the agent refuses connections for at most.
    pub refusal_rate: u32,
}

/// Who serves NodePorts, LoadBalancer addresses and external IPs to clients outside the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternalTraffic {
    /// kube-proxy.
    ByHost,
    /// The agent (`proxyAll`).
    ByAgent {
        /// The addresses of this Node that NodePorts are served on, without loopback ones.
        node_port_addresses: Vec<IpAddr>,
    },
}

/// Whether the tables for Direct Server Return are realized (feature gate LoadBalancerModeDSR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectServerReturn {
    /// No Service uses it.
    Off,
    /// Services may use it.
    On,
}

/// Where packets to a Service go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Destination {
    /// A ClusterIP, a LoadBalancer address or an external IP, and the Service's port.
    Address(SocketAddr),
    /// A NodePort, on whichever of the Node's addresses.
    NodePort {
        /// The family of those addresses.
        family: IpFamily,
        /// The port.
        port: u16,
    },
}

impl Destination {
    /// The IP family of the packets.
    pub const fn family(&self) -> IpFamily {
        match self {
            Self::Address(SocketAddr::V4(_)) => IpFamily::V4,
            Self::Address(SocketAddr::V6(_)) => IpFamily::V6,
            Self::NodePort { family, .. } => *family,
        }
    }
}

/// Whether a frontend is for the cluster or for the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// A ClusterIP.
    Internal {
        /// Where `internalTrafficPolicy` is Local: the group of all endpoints, for clients in other clusters. Those
        /// come in by the Gateway, which says nothing about which endpoint is near them.
        other_clusters: Option<GroupId>,
    },
    /// A NodePort, LoadBalancer address or external IP.
    External {
        /// Where `externalTrafficPolicy` is Local: the group of all endpoints, for clients in this Node's Pods and for
        /// the Node itself, whose traffic has no source to preserve.
        short_circuit: Option<GroupId>,
    },
}

/// Whether a client stays with the endpoint it had first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SessionAffinity {
    /// Each connection is balanced by itself.
    None,
    /// By the client's address.
    ClientIp {
        /// For how many seconds.
        timeout_seconds: u16,
    },
}

/// What endpoints of a Service are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EndpointKind {
    /// Addresses that packets are sent to.
    Direct,
    /// ClusterIPs of other Services of this Node's proxy, among others.
    Nested,
}

/// How the answers of endpoints get back to external clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LoadBalancerMode {
    /// By the Node that the request came to.
    Nat,
    /// Directly.
    Dsr {
        /// The endpoints of this Node, for requests that another Node has sent on.
        local_group: GroupId,
    },
}

/// A destination, and the group of endpoints that its packets go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frontend {
    /// The protocol.
    pub protocol: Protocol,
    /// Where packets go to.
    pub destination: Destination,
    /// Whom it is for.
    pub origin: Origin,
    /// The endpoints that the traffic policy allows.
    pub group: GroupId,
    /// Whether clients stay with their endpoint.
    pub affinity: SessionAffinity,
    /// What the endpoints are.
    pub endpoints: EndpointKind,
    /// How answers get back.
    pub mode: LoadBalancerMode,
}

impl Frontend {
    /// The packets to it.
    pub(crate) fn matching(&self) -> Match {
        let transport = transport(self.protocol);
        let matching = Match::new().transport(self.destination.family(), transport);
        match self.destination {
            Destination::Address(address) => {
                matching.ip_dst(address.ip()).port_dst(transport, address.port().into())
            }
            Destination::NodePort { port, .. } => {
                let mark = TO_NODE_PORT_ADDRESS;
                matching.bits(mark.range, mark.value).port_dst(transport, port.into())
            }
        }
    }
}

/// From where an address of a load balancer may be reached (`loadBalancerSourceRanges`): from nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedSources {
    /// The protocol.
    pub protocol: Protocol,
    /// The address and port.
    pub destination: SocketAddr,
    /// Networks of the address' family.
    pub ranges: Vec<IpNet>,
    /// The Node itself.
    pub node: NodeAccess,
}

/// How a Node's own packets are admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAccess {
    /// As anybody's: the address that they come from has to be.
    ByAddress,
    /// From the gateway's address, too, which the Node writes into them.
    Admitted,
}

impl AdmittedSources {
    /// The packets that it is about.
    pub(crate) fn matching(&self) -> Match {
        let transport = transport(self.protocol);
        let matching = Match::new().transport(IpFamily::of(&self.destination.ip()), transport);
        matching.ip_dst(self.destination.ip()).port_dst(transport, self.destination.port().into())
    }
}

/// A protocol as matches have it.
pub(crate) const fn transport(protocol: Protocol) -> Transport {
    match protocol {
        Protocol::Tcp => Transport::Tcp,
        Protocol::Udp => Transport::Udp,
        Protocol::Sctp => Transport::Sctp,
    }
}

/// An address as registers hold it.
pub(crate) const fn ip_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits() as u128,
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Where an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EndpointPlace {
    /// On this Node: one of its Pods, or the Node itself. The addresses of other Nodes count as well: packets to them need
    /// nothing that those to other Nodes' Pods need.
    ThisNode,
    /// On another Node, or outside the cluster.
    Elsewhere,
}

/// An endpoint in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// Its address and port.
    pub address: SocketAddr,
    /// Where it is.
    pub place: EndpointPlace,
}

/// Endpoints of which each connection goes to one. Without any, connections are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointGroup {
    /// Its number.
    pub id: GroupId,
    /// The family of the frontends.
    pub family: IpFamily,
    /// The endpoints, in an order that does not change by itself.
    pub endpoints: Vec<Endpoint>,
    /// That of the frontends.
    pub affinity: SessionAffinity,
    /// That of the frontends: with Direct Server Return, where packets go after their endpoint is chosen.
    pub mode: GroupMode,
}

/// How packets of a group's Service get back, as far as the group is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupMode {
    /// By this Node.
    Nat,
    /// Directly.
    Dsr,
}

/// What becomes of packets whose endpoint is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Backend {
    /// Their destination becomes the endpoint.
    Translated {
        /// The protocol.
        protocol: Protocol,
        /// The endpoint.
        address: SocketAddr,
    },
    /// The endpoint is the ClusterIP of another Service: they go on to one of its endpoints.
    Nested {
        /// The protocol.
        protocol: Protocol,
        /// The ClusterIP and port.
        address: SocketAddr,
        /// The group of the other Service.
        group: GroupId,
    },
}
