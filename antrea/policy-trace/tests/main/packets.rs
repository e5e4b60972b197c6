//! The first packets of a connection, at each Node that they come to, and what should become of them there.

use std::fmt;
use std::net::IpAddr;

use antrea_pipeline::HOST_LOCAL_MAC;
use antrea_policy_reference::{Question, Side, Verdict};
use antrea_types::{GLOBAL_VIRTUAL_MAC, IpFamily, MacAddr, OfPort};

use crate::agent::host;
use crate::computed::End;
use crate::node::{NODES, Node, gateway_mac, pod_address, pod_mac, pod_port};
use crate::outcome::Outcome;

/// How a packet gets from one end to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Path {
    WithinNode,
    /// As it leaves the Node of its sender,
    ToOtherNode,
    /// and as it comes from there.
    FromOtherNode,
    /// To the Pod's Node, another one, or out of the cluster.
    ToGateway,
    /// From another Node by the host's routes, or from outside the cluster.
    FromGateway,
    /// From the Node that the Pod is on, by whichever of its addresses.
    FromOwnNode,
    /// Through a Service: what the Pod sends comes back to it.
    ToItself,
}

/// A packet at a Node.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) path: Path,
    /// The index of the Node.
    pub(crate) node: usize,
    /// As `ofproto/trace` takes it.
    pub(crate) text: String,
    pub(crate) expected: Outcome,
}

/// A connection between two ends, with the sides of its verdict that are against it.
pub(crate) struct Connection<'a> {
    pub(crate) question: &'a Question,
    pub(crate) from: End<'a>,
    pub(crate) to: End<'a>,
    pub(crate) verdict: &'a Verdict,
    pub(crate) nodes: &'a [Node; 2],
}

/// What a packet has beside its addresses, protocol and ports.
struct Arrival<'a> {
    in_port: OfPort,
    macs: [MacAddr; 2],
    more: &'a str,
}

/// Which sides of a verdict a Node enforces.
#[derive(Clone, Copy)]
enum Enforced {
    Both,
    Egress,
    Ingress,
}

impl Connection<'_> {
    /// The packets that open it.
    pub(crate) fn packets(&self) -> Vec<Packet> {
        let (from, to) = (&self.from, &self.to);
        match (from.pod, to.pod) {
            (Some(one), Some(other)) if one == other => vec![self.to_itself()],
            (Some(_), Some(_)) if from.node == to.node => vec![self.within_node()],
            (Some(_), Some(_)) => vec![self.to_other_node(), self.by_tunnel()],
            (Some(_), None) => vec![self.to_gateway()],
            (None, _) if from.node == to.node => {
                let (node, _) = self.nodes[index(to)].numbers();
                let gateway = pod_address(node, 1, IpFamily::of(&to.address));
                vec![self.by_own_node(from.address), self.by_own_node(gateway)]
            }
            (None, _) => vec![self.by_gateway()],
        }
    }

    fn within_node(&self) -> Packet {
        let macs = [mac(&self.from), mac(&self.to)];
        let arrival = Arrival { in_port: pod_port(host(&self.from.address)), macs, more: "" };
        let text = self.text(&arrival, self.from.address);
        self.packet(Path::WithinNode, &self.to, text, Enforced::Both, self.port_of(&self.to))
    }

    /// The destination is the Pod already, and the Service has marked the connection.
    fn to_itself(&self) -> Packet {
        let arrival = Arrival { more: "ct_mark=0x50,", ..self.sent() };
        let text = self.text(&arrival, self.from.address);
        self.packet(Path::ToItself, &self.from, text, Enforced::Both, self.port_of(&self.from))
    }

    fn to_other_node(&self) -> Packet {
        let text = self.text(&self.sent(), self.from.address);
        self.packet(Path::ToOtherNode, &self.from, text, Enforced::Egress, Outcome::Tunnelled)
    }

    fn by_tunnel(&self) -> Packet {
        let macs = [gateway_mac(NODES[index(&self.from)]), GLOBAL_VIRTUAL_MAC];
        let more = match (index(&self.to), IpFamily::of(&self.to.address)) {
            (0, IpFamily::V4) => "tun_src=192.168.0.12,tun_dst=192.168.0.11,",
            (_, IpFamily::V4) => "tun_src=192.168.0.11,tun_dst=192.168.0.12,",
            (0, IpFamily::V6) => "tun_ipv6_src=fd00:192::12,tun_ipv6_dst=fd00:192::11,",
            (_, IpFamily::V6) => "tun_ipv6_src=fd00:192::11,tun_ipv6_dst=fd00:192::12,",
        };
        let text = self.text(&Arrival { in_port: OfPort::TUNNEL, macs, more }, self.from.address);
        self.packet(Path::FromOtherNode, &self.to, text, Enforced::Ingress, self.port_of(&self.to))
    }

    fn to_gateway(&self) -> Packet {
        let text = self.text(&self.sent(), self.from.address);
        let (own, other) = self.nodes[index(&self.from)].numbers();
        // The gateway of the other Node, which is asked about as if it were outside the cluster, is behind the tunnel.
        let (path, delivered) = if self.to.address == pod_address(other, 1, IpFamily::of(&self.to.address)) {
            (Path::ToOtherNode, Outcome::Tunnelled)
        } else {
            (Path::ToGateway, Outcome::Leaves(self.nodes[usize::from(own) - 1].gateway_name()))
        };
        self.packet(path, &self.from, text, Enforced::Egress, delivered)
    }

    fn by_gateway(&self) -> Packet {
        let macs = [gateway_mac(NODES[index(&self.to)]), mac(&self.to)];
        let arrival = Arrival { in_port: OfPort::GATEWAY, macs, more: "" };
        let text = self.text(&arrival, self.from.address);
        self.packet(Path::FromGateway, &self.to, text, Enforced::Ingress, self.port_of(&self.to))
    }

    fn by_own_node(&self, address: IpAddr) -> Packet {
        let node = NODES[index(&self.to)];
        let (source, more) = match node {
            1 => (gateway_mac(node), "pkt_mark=0x80000000,"),
            _ => (HOST_LOCAL_MAC, ""),
        };
        let arrival = Arrival { in_port: OfPort::GATEWAY, macs: [source, mac(&self.to)], more };
        let text = self.text(&arrival, address);
        self.packet(Path::FromOwnNode, &self.to, text, Enforced::Ingress, self.port_of(&self.to))
    }

    /// From a Pod to its gateway.
    fn sent(&self) -> Arrival<'static> {
        let macs = [mac(&self.from), gateway_mac(NODES[index(&self.from)])];
        Arrival { in_port: pod_port(host(&self.from.address)), macs, more: "" }
    }

    fn packet(
        &self,
        path: Path,
        at: &End<'_>,
        text: String,
        enforced: Enforced,
        delivered: Outcome,
    ) -> Packet {
        let Verdict { egress, ingress } = self.verdict;
        let denied = |side: &Side| matches!(side, Side::Denied { .. });
        let expected = match enforced {
            Enforced::Both | Enforced::Egress if denied(egress) => Outcome::DeniedAtEgress,
            Enforced::Both | Enforced::Ingress if denied(ingress) => Outcome::DeniedAtIngress,
            _ => delivered,
        };
        Packet { path, node: index(at), text, expected }
    }

    fn port_of(&self, pod: &End<'_>) -> Outcome {
        Outcome::Leaves(self.nodes[index(pod)].port_name(host(&pod.address)))
    }

    /// Protocols come before everything that depends on them.
    fn text(&self, arrival: &Arrival<'_>, from: IpAddr) -> String {
        let Arrival { in_port, macs: [source, destination], more } = arrival;
        let (protocol, port) = (self.question.protocol.name().to_lowercase(), self.question.port);
        let (family, addresses) = match from {
            IpAddr::V4(_) => ("", ["nw_src", "nw_dst"]),
            IpAddr::V6(_) => ("6", ["ipv6_src", "ipv6_dst"]),
        };
        let [field_from, field_to] = addresses;
        let to = self.to.address;
        format!(
            "{protocol}{family},{more}in_port={in_port},dl_src={source},dl_dst={destination},{field_from}={from},\
             {field_to}={to},nw_ttl=64,{protocol}_src=40000,{protocol}_dst={port}"
        )
    }
}

/// The index of the Node that an end is on.
fn index(end: &End<'_>) -> usize {
    NODES.iter().position(|number| end.node == Some(&format!("n{number}"))).unwrap()
}

fn mac(pod: &End<'_>) -> MacAddr {
    pod_mac(NODES[index(pod)], host(&pod.address))
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WithinNode => "within a Node",
            Self::ToOtherNode => "to another Node",
            Self::FromOtherNode => "from another Node",
            Self::ToGateway => "to the gateway",
            Self::FromGateway => "from the gateway",
            Self::FromOwnNode => "from the Pod's Node",
            Self::ToItself => "to itself",
        })
    }
}
