//! What flows of policies make of packets, by the rules of conjunctions in `ovs-fields(7)`, and what the rules themselves
//! say of the same packets. The two have nothing in common but the packets.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use antrea_openflow::{Action, Conjunction, Flow, FlowPriority, Match, MatchField, TableId, Transport};
use antrea_pipeline::fields::TARGET_OF_PORT;
use antrea_pipeline::policy::{
    Direction, FlowChange, Peers, PolicyRule, Ports, RuleChanges, Sender, Service, Services, Target, Traffic,
};
use antrea_pipeline::{Pipeline, PodInterface};
use antrea_types::{IpFamily, OfPort, Protocol};

/// A packet between two addresses; ports are those of Pods of this Node, else the gateway's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) from: (IpAddr, OfPort),
    pub(crate) to: (IpAddr, OfPort),
    pub(crate) service: (Protocol, u16),
}

impl Sent {
    /// Everything that anybody sends to anybody else.
    pub(crate) fn all(pods: &[PodInterface], others: &[&str], services: &[(Protocol, u16)]) -> Vec<Self> {
        let own = pods.iter().flat_map(|pod| pod.ips.iter().map(|ip| (*ip, pod.of_port)));
        let others = others.iter().map(|text| (text.parse().unwrap(), OfPort::GATEWAY));
        let ends: Vec<(IpAddr, OfPort)> = own.chain(others).collect();
        let pairs = ends.iter().flat_map(|from| ends.iter().map(|to| (*from, *to)));
        let pairs = pairs.filter(|(from, to)| from != to && IpFamily::of(&from.0) == IpFamily::of(&to.0));
        pairs
            .flat_map(|(from, to)| services.iter().map(move |service| Self { from, to, service: *service }))
            .collect()
    }

    /// Whether a Pod of this Node may have policies about it.
    pub(crate) fn concerns(&self, direction: Direction) -> bool {
        let (_, port) = match direction {
            Direction::Egress => self.from,
            Direction::Ingress => self.to,
        };
        port != OfPort::GATEWAY
    }

    fn matching(&self) -> Match {
        let (protocol, port) = self.service;
        let transport = match protocol {
            Protocol::Tcp => Transport::Tcp,
            Protocol::Udp => Transport::Udp,
            Protocol::Sctp => Transport::Sctp,
        };
        Match::new()
            .in_port(self.from.1)
            .bits(TARGET_OF_PORT, self.to.1.0)
            .ip_src(self.from.0)
            .ip_dst(self.to.0)
            .transport(IpFamily::of(&self.from.0), transport)
            .port_dst(transport, port.into())
    }
}

/// The tables of policies.
#[derive(Clone, Default)]
pub(crate) struct Switch {
    tables: BTreeMap<&'static str, TableId>,
    flows: BTreeMap<TableId, BTreeMap<(FlowPriority, Match), Flow>>,
}

impl Switch {
    pub(crate) fn new(pipeline: &Pipeline) -> Self {
        let tables = pipeline.table_names().into_iter().map(|(id, name)| (name, id)).collect();
        Self { tables, flows: BTreeMap::new() }
    }

    /// Does one change, which has to say rightly whether the flow is there.
    #[track_caller]
    pub(crate) fn change(&mut self, change: &FlowChange) {
        let (FlowChange::Add(flow) | FlowChange::Modify(flow) | FlowChange::Delete(flow)) = change;
        let (key, table) =
            ((flow.priority, flow.matching.clone()), self.flows.entry(flow.table).or_default());
        match change {
            FlowChange::Add(_) => assert_eq!(table.insert(key, flow.clone()), None),
            FlowChange::Modify(_) => {
                let old = table.insert(key, flow.clone());
                assert!(old.is_some_and(|old| old != *flow), "{flow}");
            }
            FlowChange::Delete(_) => assert!(table.remove(&key).is_some(), "{flow}"),
        }
    }

    pub(crate) fn flows(&self) -> BTreeSet<&Flow> {
        self.flows.values().flat_map(BTreeMap::values).collect()
    }

    /// Whether the policies of a direction let a packet pass.
    pub(crate) fn admits(&self, direction: Direction, sent: &Sent) -> bool {
        let (rule, default) = match direction {
            Direction::Egress => ("EgressRule", "EgressDefaultRule"),
            Direction::Ingress => ("IngressRule", "IngressDefaultRule"),
        };
        let packet = sent.matching();
        self.rule_of(self.tables[rule], &packet).is_some()
            || self.matching(self.tables[default], &packet).is_empty()
    }

    fn matching(&self, table: TableId, packet: &Match) -> Vec<&Flow> {
        let fulfils = |wanted: &MatchField| {
            packet.get(wanted.field).is_some_and(|field| field.value & wanted.mask == wanted.value)
        };
        let of_table = self.flows.get(&table).into_iter().flat_map(BTreeMap::values);
        of_table.filter(|flow| flow.matching.fields().iter().all(fulfils)).collect()
    }

    /// The rule whose clauses the packet fulfils, if there is one with a flow for that.
    fn rule_of(&self, table: TableId, packet: &Match) -> Option<u32> {
        let fulfilled: BTreeSet<Conjunction> = self
            .matching(table, packet)
            .into_iter()
            .flat_map(|flow| &flow.actions)
            .filter_map(|action| match action {
                Action::Conjunction(conjunction) => Some(*conjunction),
                _ => None,
            })
            .collect();
        let all = |first: &Conjunction| {
            (1..=first.of).all(|clause| fulfilled.contains(&Conjunction { clause, ..*first }))
        };
        let admitted = |id: &u32| {
            let flows = self.matching(table, &packet.clone().conj_id(*id));
            flows.iter().any(|flow| matches!(flow.actions.last(), Some(Action::CtCommit(_))))
        };
        fulfilled.iter().filter(|first| all(first)).map(|first| first.id).find(admitted)
    }
}

/// Whether rules let a packet pass in a direction.
pub(crate) fn rules_admit(rules: &RuleChanges, direction: Direction, sent: &Sent) -> bool {
    let rules = rules.values().flatten().filter(|rule| rule.direction() == direction);
    let mut isolating =
        rules.filter(|rule| rule.targets.iter().any(|target| is_target(target, direction, sent))).peekable();
    isolating.peek().is_none() || isolating.any(|rule| rule_admits(rule, sent))
}

fn is_target(target: &Target, direction: Direction, sent: &Sent) -> bool {
    match direction {
        Direction::Egress => target.ips.iter().any(|ip| *ip == sent.from.0),
        Direction::Ingress => target.of_port == sent.to.1,
    }
}

fn rule_admits(rule: &PolicyRule, sent: &Sent) -> bool {
    let peer = match &rule.traffic {
        Traffic::From(Peers::Any) | Traffic::To(Peers::Any) => true,
        Traffic::From(Peers::Only(senders)) => senders.iter().any(|sender| match sender {
            Sender::Net(network) => network.contains(&sent.from.0),
            Sender::Port(port) => *port == sent.from.1,
        }),
        Traffic::To(Peers::Only(networks)) => networks.iter().any(|network| network.contains(&sent.to.0)),
    };
    let (protocol, port) = sent.service;
    peer && match &rule.services {
        Services::Any => true,
        Services::Only(services) => services.iter().any(|service: &Service| {
            service.protocol == protocol
                && match service.ports {
                    Ports::Any => true,
                    Ports::Range(range) => range.contains(port),
                }
        }),
    }
}
