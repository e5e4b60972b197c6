//! Questions: one connection between two ends.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::cluster::Cluster;
use crate::object::name;
use crate::place;

/// One end of a connection. As text: `NAMESPACE/NAME`, `node:NAME`, or an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Endpoint {
    Pod {
        namespace: String,
        name: String,
    },
    Node(String),
    /// An address that neither a Pod nor a Node has.
    Outside(IpAddr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    Tcp,
    Udp,
    Sctp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    V4,
    V6,
}

/// Whether a connection may be made. As text: `a/web -> b/db TCP 80`, over IPv4 unless ` over IPv6` follows or one
/// end is an address of IPv6.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    pub from: Endpoint,
    pub to: Endpoint,
    pub family: Family,
    pub protocol: Protocol,
    /// The destination's port.
    pub port: u16,
}

/// Text that is no question, with what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not \"FROM -> TO PROTOCOL PORT [over FAMILY]\": {expected}")]
pub struct BadQuestion {
    text: String,
    expected: &'static str,
}

impl Family {
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

impl Protocol {
    /// As Kubernetes spells it; nothing else is a protocol.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Tcp, Self::Udp, Self::Sctp].into_iter().find(|protocol| protocol.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }
}

/// Every connection between two of the cluster's Pods and Nodes and some addresses outside, to each of some ports,
/// over each family that both have; those that no policy can be about are left out.
pub fn questions(cluster: &Cluster, outside: &[IpAddr], ports: &[(Protocol, u16)]) -> Vec<Question> {
    let all = endpoints(cluster, outside);
    let mut questions = Vec::new();
    for family in [Family::V4, Family::V6] {
        let place = |end: &Endpoint| place::find(cluster, end, family).ok();
        let ends: Vec<_> = all.iter().filter_map(|end| Some((end, place(end)?.pod))).collect();
        for (from, from_pod) in &ends {
            for (to, _) in ends.iter().filter(|(_, to_pod)| from_pod.or(*to_pod).is_some()) {
                questions.extend(ports.iter().map(|(protocol, port)| Question {
                    from: (*from).clone(),
                    to: (*to).clone(),
                    family,
                    protocol: *protocol,
                    port: *port,
                }));
            }
        }
    }
    questions
}

fn endpoints(cluster: &Cluster, outside: &[IpAddr]) -> Vec<Endpoint> {
    let pods = cluster.pods.iter().map(|pod| Endpoint::from(name(pod).as_str()));
    let nodes = cluster.nodes.iter().map(|node| Endpoint::Node(name(node)));
    pods.chain(nodes).chain(outside.iter().copied().map(Endpoint::Outside)).collect()
}

impl FromStr for Question {
    type Err = BadQuestion;

    fn from_str(text: &str) -> Result<Self, BadQuestion> {
        let bad = |expected| BadQuestion { text: text.to_owned(), expected };
        let words: Vec<&str> = text.split_whitespace().collect();
        let (ends, family) = match words.as_slice() {
            [ends @ .., "over", "IPv4"] => (ends, Some(Family::V4)),
            [ends @ .., "over", "IPv6"] => (ends, Some(Family::V6)),
            ends => (ends, None),
        };
        let [from, "->", to, protocol, port] = ends else { return Err(bad("five words")) };
        let (from, to) = (Endpoint::from(*from), Endpoint::from(*to));
        let of_address = [&from, &to].into_iter().find_map(|end| match end {
            Endpoint::Outside(address) => Some(Family::of(*address)),
            Endpoint::Pod { .. } | Endpoint::Node(_) => None,
        });
        Ok(Self {
            family: family.or(of_address).unwrap_or(Family::V4),
            protocol: Protocol::from_name(protocol).ok_or_else(|| bad("TCP, UDP or SCTP"))?,
            port: port.parse().map_err(|_| bad("a port's number"))?,
            from,
            to,
        })
    }
}

/// What is neither a Node nor an address is a Pod, in Namespace `default` when it names none.
impl From<&str> for Endpoint {
    fn from(text: &str) -> Self {
        if let Some(node) = text.strip_prefix("node:") {
            return Self::Node(node.to_owned());
        }
        if let Ok(address) = text.parse() {
            return Self::Outside(address);
        }
        let (namespace, name) = text.split_once('/').unwrap_or(("default", text));
        Self::Pod { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod { namespace, name } => write!(f, "{namespace}/{name}"),
            Self::Node(name) => write!(f, "node:{name}"),
            Self::Outside(address) => write!(f, "{address}"),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, family, protocol, port } = self;
        write!(f, "{from} -> {to} {} {port} over {family}", protocol.name())
    }
}
