//! Rules: from or to whom, on which ports, and what happens then.

use std::fmt;

use antrea_types::Protocol;
use ipnet::IpNet;

use crate::GroupName;

/// Seen from the Pods that a policy applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// To them.
    In,
    /// From them.
    Out,
}

/// What happens to a packet that a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// It passes.
    Allow,
}

/// Whether connections that a rule decides are written to the Node's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Logging {
    /// They are not.
    #[default]
    Off,
    /// They are.
    On,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// To or from the policy's own Pods.
    pub direction: Direction,
    /// The other side. Nobody where it has neither groups nor blocks.
    pub peer: Peer,
    /// Ports of the destination; none means all of all protocols.
    pub ports: Box<[Port]>,
    /// The rank among the rules of a policy; -1 for those of Kubernetes, whose order does not matter.
    pub priority: i32,
    /// Nothing in a rule that only isolates: what no other rule admits in this direction is dropped.
    pub action: Option<Action>,
    /// Whether it is logged.
    pub logging: Logging,
}

impl Rule {
    /// The rule which says that the policy's Pods are isolated in a direction, and nothing else.
    pub fn isolation(direction: Direction, logging: Logging) -> Self {
        Self { direction, peer: Peer::default(), ports: Box::default(), priority: 0, action: None, logging }
    }
}

/// The other side of a connection: the union of its parts.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Peer {
    /// Members of these.
    pub address_groups: Box<[GroupName]>,
    /// Addresses of these.
    pub ip_blocks: Box<[IpBlock]>,
}

/// Addresses in a prefix. Host bits are kept as the user wrote them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IpBlock {
    /// All of these,
    pub cidr: IpNet,
    /// but none of these.
    pub except: Box<[IpNet]>,
}

/// Ports of a protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// The protocol.
    pub protocol: Protocol,
    /// Which of its ports.
    pub ports: PortMatch,
}

/// Ports within a protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PortMatch {
    /// All.
    Any,
    /// One.
    Number(u16),
    /// From the first to the last, both included; the first is less than or equal to the last.
    Range(u16, u16),
    /// What the destination Pod itself calls so.
    Name(Box<str>),
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.ports {
            PortMatch::Any => write!(f, "{}", self.protocol),
            PortMatch::Number(port) => write!(f, "{}:{port}", self.protocol),
            PortMatch::Range(first, last) => write!(f, "{}:{first}-{last}", self.protocol),
            PortMatch::Name(name) => write!(f, "{}:{name}", self.protocol),
        }
    }
}

impl fmt::Display for IpBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cidr)?;
        self.except.iter().try_for_each(|except| write!(f, "-{except}"))
    }
}

/// `In peers GROUP BLOCK ports TCP:80 Allow -1`; a peer or port that is absent is not written.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.direction)?;
        if self.peer != Peer::default() {
            f.write_str(" peers")?;
        }
        self.peer.address_groups.iter().try_for_each(|group| write!(f, " {group}"))?;
        self.peer.ip_blocks.iter().try_for_each(|block| write!(f, " {block}"))?;
        if !self.ports.is_empty() {
            f.write_str(" ports")?;
        }
        self.ports.iter().try_for_each(|port| write!(f, " {port}"))?;
        self.action.iter().try_for_each(|action| write!(f, " {action:?}"))?;
        write!(f, " {}", self.priority)?;
        if self.logging == Logging::On { f.write_str(" logged") } else { Ok(()) }
    }
}
