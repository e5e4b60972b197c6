//! What a rule is made of in the switch: clauses that it wants fulfilled, and packets that it isolates its targets from.

use std::net::{Ipv4Addr, Ipv6Addr};

use antrea_openflow::{Conjunction, Match, PortMask};
use antrea_types::{IpFamily, OfPort, Protocol};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::{ConjunctionId, Direction, Peers, PolicyRule, PortRange, Ports, Sender, Services, Traffic};
use crate::fields::TARGET_OF_PORT;
use crate::service::transport;
use crate::tables::ipv6::LINK_LOCAL;

/// Packets that a rule, default or metric table matches, other than by a rule's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Selector {
    /// To a Pod of this Node.
    ToPort(OfPort),
    /// From a port of the bridge.
    FromPort(OfPort),
    /// From a Pod's link-local address, which is known by the port here: SpoofGuard has dropped those of others.
    FromLinkLocalOf(OfPort),
    /// From a network.
    From(IpNet),
    /// To a network.
    To(IpNet),
    /// To ports of a protocol.
    Service(IpFamily, Protocol, PortMask),
}

const EVERY_PORT: PortMask = PortMask { value: 0, mask: 0 };

impl Selector {
    pub(super) fn matching(self) -> Match {
        match self {
            Self::ToPort(port) => Match::new().bits(TARGET_OF_PORT, port.0),
            Self::FromPort(port) => Match::new().in_port(port),
            Self::FromLinkLocalOf(port) => Match::new().in_port(port).ip_src(IpNet::V6(LINK_LOCAL)),
            Self::From(network) => Match::new().ip_src(network),
            Self::To(network) => Match::new().ip_dst(network),
            Self::Service(family, protocol, ports) => {
                let transport = transport(protocol);
                Match::new().transport(family, transport).port_dst(transport, ports)
            }
        }
    }
}

/// A selector in the tables of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Clause {
    pub(super) direction: Direction,
    pub(super) selector: Selector,
}

/// That packets of a selector fulfil a clause of a rule.
pub(super) type Part = (Clause, Conjunction);

/// What a rule admits, by clauses, in order and each once.
pub(super) fn parts(id: ConjunctionId, rule: &PolicyRule, families: &[IpFamily]) -> Vec<Part> {
    let (from, to) = match &rule.traffic {
        Traffic::From(peers) => (senders(peers, families), receiving(rule)),
        Traffic::To(peers) => (sending(rule, families), receivers(peers, families)),
    };
    let services = services(&rule.services, families);
    let of = if services.is_some() { 3 } else { 2 };
    let sides = [from, to, services.unwrap_or_default()];
    let direction = rule.direction();
    let mut parts = Vec::with_capacity(sides.iter().map(Vec::len).sum());
    for (clause, selectors) in (1..).zip(sides) {
        let part = |selector| (Clause { direction, selector }, Conjunction { id: id.get(), clause, of });
        parts.extend(selectors.into_iter().map(part));
    }
    parts.sort_unstable();
    parts.dedup();
    parts
}

/// The packets that no rule may miss: what its targets get, or send.
pub(super) fn isolated(rule: &PolicyRule, families: &[IpFamily]) -> Vec<Clause> {
    let mut selectors = match rule.direction() {
        Direction::Ingress => receiving(rule),
        Direction::Egress => sending(rule, families),
    };
    selectors.sort_unstable();
    selectors.dedup();
    selectors.into_iter().map(|selector| Clause { direction: rule.direction(), selector }).collect()
}

fn receiving(rule: &PolicyRule) -> Vec<Selector> {
    rule.targets.iter().map(|target| Selector::ToPort(target.of_port)).collect()
}

fn sending(rule: &PolicyRule, families: &[IpFamily]) -> Vec<Selector> {
    let addresses = rule.targets.iter().flat_map(|target| target.ips.iter());
    let addresses = known(addresses.copied().map(IpNet::from), families).map(Selector::From);
    let v6 = families.contains(&IpFamily::V6);
    let link_local = rule.targets.iter().filter(|_| v6).map(|pod| Selector::FromLinkLocalOf(pod.of_port));
    addresses.chain(link_local).collect()
}

fn senders(peers: &Peers<Sender>, families: &[IpFamily]) -> Vec<Selector> {
    let sender = |sender: &Sender| match *sender {
        Sender::Port(port) => Some(Selector::FromPort(port)),
        Sender::Net(network) => known([network], families).map(Selector::From).next(),
    };
    match peers {
        Peers::Any => families.iter().map(|family| Selector::From(everything(*family))).collect(),
        Peers::Only(senders) => senders.iter().filter_map(sender).collect(),
    }
}

fn receivers(peers: &Peers<IpNet>, families: &[IpFamily]) -> Vec<Selector> {
    match peers {
        Peers::Any => families.iter().map(|family| Selector::To(everything(*family))).collect(),
        Peers::Only(networks) => known(networks.iter().copied(), families).map(Selector::To).collect(),
    }
}

/// None where every service is admitted.
fn services(services: &Services, families: &[IpFamily]) -> Option<Vec<Selector>> {
    let Services::Only(services) = services else { return None };
    let mut selectors = Vec::new();
    for family in families {
        for service in services {
            let selector = |ports| Selector::Service(*family, service.protocol, ports);
            selectors.extend(masks(service.ports).into_iter().map(selector));
        }
    }
    Some(selectors)
}

fn masks(ports: Ports) -> Vec<PortMask> {
    match ports {
        Ports::Any => vec![EVERY_PORT],
        Ports::Range(range) => PortRange::masks(range),
    }
}

/// The networks of families that the Node has, without host bits.
fn known(networks: impl IntoIterator<Item = IpNet>, families: &[IpFamily]) -> impl Iterator<Item = IpNet> {
    let networks = networks.into_iter().filter(|network| families.contains(&IpFamily::of_net(network)));
    networks.map(|network| network.trunc())
}

const fn everything(family: IpFamily) -> IpNet {
    match family {
        IpFamily::V4 => IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0)),
        IpFamily::V6 => IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0)),
    }
}
