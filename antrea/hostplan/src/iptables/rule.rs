//! One rule. `Display` is the order and spelling of `iptables-save` 1.8, so that text compares equal.

use std::fmt;
use std::net::IpAddr;

use antrea_types::InterfaceName;
use ipnet::IpNet;

/// Which interfaces match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceIs {
    /// Only this one.
    Only(InterfaceName),
    /// All but this one.
    Not(InterfaceName),
}

/// A port of UDP or TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Where packets come from.
    Source(u16),
    /// Where packets go to.
    Destination(u16),
}

/// The protocol above IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer4 {
    /// UDP with a port.
    Udp(Port),
    /// TCP with a port.
    Tcp(Port),
    /// Generic Routing Encapsulation (IP protocol 47).
    Gre,
}

/// What of a packet is looked up in an IP set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetDirection {
    /// Its source address.
    Source,
    /// Its destination address.
    Destination,
    /// Its destination address, its protocol and its destination port.
    DestinationAndPort,
}

/// What a packet must be beyond addresses, interfaces and protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Its source is an address of this Node.
    SourceLocal,
    /// A socket of this host has sent it: it is not forwarded, whatever its source address says.
    OfSocket,
    /// Its source is not an address of the interface that it leaves by.
    SourceNotOfOutput,
    /// Its destination is an address of this Node.
    DestinationLocal,
    /// It belongs to a connection that has seen packets both ways.
    Established,
    /// Its destination has been translated.
    Translated,
    /// It is in the IP set.
    InSet(String, SetDirection),
    /// It is not in the IP set.
    NotInSet(String, SetDirection),
}

/// How masqueraded connections get their source ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourcePorts {
    /// Kept where possible.
    Kept,
    /// Random, which avoids races between connections that start at once.
    RandomFully,
}

/// What happens to a packet that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// It passes.
    Accept,
    /// It goes no further.
    Drop,
    /// It is not tracked.
    NoTrack,
    /// The bits of the mark are set (`--or-mark`).
    OrMark(u32),
    /// Its source becomes the address of the interface that it leaves by.
    Masquerade(SourcePorts),
    /// Its destination becomes this address.
    Dnat(IpAddr),
    /// It goes on in another chain.
    Jump(String),
}

/// A rule with a comment, without its chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    comment: String,
    source: Option<IpNet>,
    input: Option<InterfaceIs>,
    output: Option<InterfaceIs>,
    layer4: Option<Layer4>,
    matches: Vec<Match>,
    target: Target,
}

impl Rule {
    /// A rule that matches everything. "Antrea: " is put before the comment.
    pub fn new(comment: &str, target: Target) -> Self {
        Self {
            comment: format!("Antrea: {comment}"),
            source: None,
            input: None,
            output: None,
            layer4: None,
            matches: Vec::new(),
            target,
        }
    }

    /// Only packets from a network.
    pub fn source(self, net: IpNet) -> Self {
        Self { source: Some(net), ..self }
    }

    /// Only packets that came in by some interfaces.
    pub fn input(self, interface: InterfaceIs) -> Self {
        Self { input: Some(interface), ..self }
    }

    /// Only packets that leave by some interfaces.
    pub fn output(self, interface: InterfaceIs) -> Self {
        Self { output: Some(interface), ..self }
    }

    /// Only packets of a protocol and port.
    pub fn layer4(self, layer4: Layer4) -> Self {
        Self { layer4: Some(layer4), ..self }
    }

    /// Only packets that match this as well.
    pub fn matching(mut self, condition: Match) -> Self {
        self.matches.push(condition);
        self
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(source) = self.source {
            write!(f, "-s {source} ")?;
        }
        for (option, interface) in [("-i", &self.input), ("-o", &self.output)] {
            match interface {
                Some(InterfaceIs::Only(name)) => write!(f, "{option} {name} ")?,
                Some(InterfaceIs::Not(name)) => write!(f, "! {option} {name} ")?,
                None => {}
            }
        }
        if let Some(layer4) = self.layer4 {
            write!(f, "-p {} ", layer4.protocol())?;
        }
        write!(f, "-m comment --comment \"{}\" ", self.comment)?;
        if let Some(port) = self.layer4.and_then(Layer4::port_match) {
            write!(f, "{port} ")?;
        }
        for condition in &self.matches {
            write!(f, "{condition} ")?;
        }
        write!(f, "-j {}", self.target)
    }
}

impl Layer4 {
    const fn protocol(self) -> &'static str {
        match self {
            Self::Udp(_) => "udp",
            Self::Tcp(_) => "tcp",
            Self::Gre => "gre",
        }
    }

    fn port_match(self) -> Option<String> {
        let (Self::Udp(port) | Self::Tcp(port)) = self else {
            return None;
        };
        let protocol = self.protocol();
        Some(match port {
            Port::Source(number) => format!("-m {protocol} --sport {number}"),
            Port::Destination(number) => format!("-m {protocol} --dport {number}"),
        })
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SourceLocal => f.write_str("-m addrtype --src-type LOCAL"),
            Self::OfSocket => f.write_str("-m owner --socket-exists"),
            Self::SourceNotOfOutput => f.write_str("-m addrtype ! --src-type LOCAL --limit-iface-out"),
            Self::DestinationLocal => f.write_str("-m addrtype --dst-type LOCAL"),
            Self::Established => f.write_str("-m conntrack --ctstate ESTABLISHED"),
            Self::Translated => f.write_str("-m conntrack --ctstate DNAT"),
            Self::InSet(set, direction) => write!(f, "-m set --match-set {set} {direction}"),
            Self::NotInSet(set, direction) => write!(f, "-m set ! --match-set {set} {direction}"),
        }
    }
}

impl fmt::Display for SetDirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "src",
            Self::Destination => "dst",
            Self::DestinationAndPort => "dst,dst",
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accept => f.write_str("ACCEPT"),
            Self::Drop => f.write_str("DROP"),
            Self::NoTrack => f.write_str("NOTRACK"),
            Self::OrMark(bits) => write!(f, "MARK --set-xmark {bits:#x}/{bits:#x}"),
            Self::Masquerade(SourcePorts::Kept) => f.write_str("MASQUERADE"),
            Self::Masquerade(SourcePorts::RandomFully) => f.write_str("MASQUERADE --random-fully"),
            Self::Dnat(address) => write!(f, "DNAT --to-destination {address}"),
            Self::Jump(chain) => f.write_str(chain),
        }
    }
}
