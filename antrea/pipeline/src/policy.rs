//! NetworkPolicies as a Node enforces them: rules in, changes of flows out.
//!
//! A rule admits packets between a Pod of this Node and its peers. OVS matches it as a conjunction of two or three clauses
//! (`ovs-fields(7)`, "Conjunctive Match Fields"): whom the packet is from (1), whom it is to (2), what it is to there (3, only
//! where the rule names services). A clause has a flow for each address, port or service; flows are shared by all rules that
//! have the same one. A Pod that is the target of any rule is isolated in the rule's direction: what no rule admits is
//! dropped. A rule without peers admits nothing and isolates.
//!
//! An OpenFlow message has room for about 4,000 rules that share a flow; whoever has more that say the same gives them one
//! number.

mod changes;
mod clauses;
mod counter;
mod flows;
mod networks;
mod ports;

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;

use antrea_openflow::{Field, Flow};
use antrea_types::{DualStack, OfPort, Protocol};
use ipnet::IpNet;

pub use changes::{FlowChange, FlowCounts, RuleChanges};
pub use counter::{Counter, Packets};
pub use flows::PolicyFlows;
pub use networks::without;
pub use ports::{InvalidPortRange, PortRange};

/// The number of a rule, in flows and in the labels of the connections that it has admitted. Upstream keeps 1 for the answers
/// of DNS servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConjunctionId(NonZeroU32);

impl ConjunctionId {
    /// None for 0, which is no rule's.
    pub const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The rule whose packets a flow admits, if it is such a flow.
    pub fn admitted_by(flow: &Flow) -> Option<Self> {
        Self::new(u32::try_from(flow.matching.get(Field::ConjId)?.value).ok()?)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for ConjunctionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Which packets of a Pod rules are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Those that it sends.
    Egress,
    /// Those that it gets.
    Ingress,
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Egress, Self::Ingress];
}

/// What is admitted between Pods of this Node and others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyRule {
    /// The Pods of this Node that the policy is applied to.
    pub targets: BTreeSet<Target>,
    /// In which direction, and with whom.
    pub traffic: Traffic,
    /// To which services.
    pub services: Services,
}

impl PolicyRule {
    /// The direction.
    pub const fn direction(&self) -> Direction {
        match self.traffic {
            Traffic::From(_) => Direction::Ingress,
            Traffic::To(_) => Direction::Egress,
        }
    }
}

/// A Pod of this Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// Its port on the bridge: what it gets is known by that.
    pub of_port: OfPort,
    /// Its addresses: what it sends is known by them.
    pub ips: DualStack<IpAddr>,
}

/// The direction of a rule, and the peers in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Traffic {
    /// Ingress.
    From(Peers<Sender>),
    /// Egress.
    To(Peers<IpNet>),
}

/// The other side of what a rule admits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peers<T> {
    /// Everybody.
    Any,
    /// These; without any nobody.
    Only(BTreeSet<T>),
}

/// A peer that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sender {
    /// Whoever has an address of the network. One address is a network of its own.
    Net(IpNet),
    /// Whoever is behind a port of the bridge.
    Port(OfPort),
}

/// What a rule admits packets to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Services {
    /// Everything, protocols without ports among it.
    Any,
    /// These; without any nothing.
    Only(BTreeSet<Service>),
}

/// Ports of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Service {
    /// The protocol.
    pub protocol: Protocol,
    /// The ports of the packet's destination.
    pub ports: Ports,
}

/// Destination ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ports {
    /// All of them.
    Any,
    /// One, or some that follow one another.
    Range(PortRange),
}
