//! Writes the flows of a table: what the packet must look like, what is done to it, where it goes.
//!
//! A target that is not realized is no target: the flow then ends there and the packet is dropped, it never takes
//! another way.

use std::net::{IpAddr, Ipv4Addr};

use antrea_openflow::{
    Action, Conjunction, Controller, Cookie, CtCommit, CtLookup, Field, Flow, FlowPriority, GroupId, Learn,
    Match, MeterId, Move, SubField, TableId,
};
use antrea_types::MacAddr;

use crate::cookie::Category;
use crate::fields::Mark;
use crate::layout::OpenTable;

/// For packets that no other flow matches.
pub const MISS: FlowPriority = FlowPriority(0);
/// For what is left over even by those.
pub const REST: FlowPriority = FlowPriority(180);
/// For what is left over by the flows of a feature.
pub const LOW: FlowPriority = FlowPriority(190);
/// Between [`LOW`] and [`NORMAL`].
pub const UNCLAIMED: FlowPriority = FlowPriority(195);
/// For most flows.
pub const NORMAL: FlowPriority = FlowPriority(200);
/// For exceptions.
pub const HIGH: FlowPriority = FlowPriority(210);
/// For exceptions from those, and for what nobody may do.
pub const HIGHEST: FlowPriority = FlowPriority(220);

/// The `arp_op` of an answer (RFC 826).
const ARP_ANSWER: u16 = 2;

/// The type of an ICMP echo answer (RFC 792).
const ECHO_ANSWER: u8 = 0;

/// A flow that is being written. Actions are done in the order in which they are named.
#[derive(Clone, Debug)]
pub struct FlowBuilder {
    flow: Flow,
}

impl OpenTable<'_> {
    /// A flow that matches every packet and drops it, unless told otherwise.
    pub fn flow(&self, priority: FlowPriority, category: Category) -> FlowBuilder {
        self.flow_of(priority, category.cookie())
    }

    /// As [`OpenTable::flow`], of one object of a feature.
    pub fn flow_of(&self, priority: FlowPriority, cookie: Cookie) -> FlowBuilder {
        FlowBuilder { flow: Flow { cookie, ..Flow::new(self.id(), priority) } }
    }

    /// The flow for packets that no other flow matches.
    pub fn miss_flow(&self, category: Category) -> FlowBuilder {
        self.flow(MISS, category)
    }
}

impl FlowBuilder {
    /// The packets that the flow is for.
    pub fn matching(mut self, matching: Match) -> Self {
        self.flow.matching = matching;
        self
    }

    /// Demands a mark, beside what was demanded.
    pub fn marked(mut self, mark: Mark) -> Self {
        self.flow.matching = self.flow.matching.bits(mark.range, mark.value);
        self
    }

    /// Marks the packet.
    pub fn load(self, mark: Mark) -> Self {
        self.load_bits(mark.range, mark.value)
    }

    /// Writes bits of a register.
    pub fn load_bits(self, range: SubField, value: u32) -> Self {
        self.then(Action::load(range, value))
    }

    /// Writes the source MAC.
    pub fn set_eth_src(self, mac: MacAddr) -> Self {
        self.then(Action::set_mac(Field::EthSrc, mac))
    }

    /// Writes the destination MAC.
    pub fn set_eth_dst(self, mac: MacAddr) -> Self {
        self.then(Action::set_mac(Field::EthDst, mac))
    }

    /// Chooses the far end of the tunnel that the packet will leave by.
    pub fn set_tunnel_dst(self, remote: IpAddr) -> Self {
        self.then(Action::set_tun_dst(remote))
    }

    /// Counts a hop; a packet whose last it was goes no further.
    pub fn dec_ttl(self) -> Self {
        self.then(Action::DecTtl)
    }

    /// Sends the packet through the learning switch.
    pub fn normal(self) -> Self {
        self.then(Action::NORMAL)
    }

    /// Sends the packet out of the port that a register holds.
    pub fn output_to(self, register: SubField) -> Self {
        self.then(Action::OutputField(register))
    }

    /// Sends the packet back out of the port that it came from.
    pub fn output_to_in_port(self) -> Self {
        self.then(Action::IN_PORT)
    }

    /// Turns an ARP request for `address` into the answer that `mac` has it, and sends that back.
    pub fn answer_arp(self, address: Ipv4Addr, mac: MacAddr) -> Self {
        self.then(Action::Move(SENDER_MAC_TO_RECEIVER))
            .set_eth_src(mac)
            .then(Action::set(Field::ArpOp, ARP_ANSWER))
            .then(Action::Move(ARP_SENDER_MAC_TO_TARGET))
            .then(Action::set_mac(Field::ArpSha, mac))
            .then(Action::Move(ARP_SENDER_ADDRESS_TO_TARGET))
            .then(Action::set(Field::ArpSpa, address.to_bits()))
            .output_to_in_port()
    }

    /// Turns an ICMP echo request of `asker` into the answer of `address`, and sends that back.
    pub fn answer_echo(self, address: Ipv4Addr, asker: Ipv4Addr) -> Self {
        self.then(Action::set(Field::IcmpType, ECHO_ANSWER))
            .then(Action::set(Field::Ipv4Src, address.to_bits()))
            .then(Action::set(Field::Ipv4Dst, asker.to_bits()))
            .output_to_in_port()
    }

    /// Looks the packet up in another table as well, then goes on here.
    pub fn resubmit(self, table: Option<TableId>) -> Self {
        match table {
            Some(table) => self.then(Action::resubmit(table)),
            None => self,
        }
    }

    /// Sends the packet through a group.
    pub fn group(self, group: GroupId) -> Self {
        self.then(Action::Group(group))
    }

    /// Makes a flow of the packet.
    pub fn learn(self, learn: Learn) -> Self {
        self.then(learn.into())
    }

    /// Drops the packet where there are too many of them.
    pub fn limit(self, meter: MeterId) -> Self {
        self.then(Action::Meter(meter))
    }

    /// Sends the packet to the agent, with a label that says what for.
    pub fn to_agent(self, label: u8) -> Self {
        self.then(Controller { userdata: vec![label], ..Controller::default() }.into())
    }

    /// Looks the packet's connection up, translates the packet if the connection is translated, goes on in `table`.
    pub fn track(self, zone: u16, table: Option<TableId>) -> Self {
        self.then(CtLookup { table, ..CtLookup::new(zone).nat() }.into())
    }

    /// Commits the packet's connection with a copy of a register range in its mark, goes on in `table`.
    pub fn commit(self, zone: u16, table: Option<TableId>, remembered: Move) -> Self {
        self.then(CtCommit { table, ..CtCommit::new(zone).exec(Action::Move(remembered)) }.into())
    }

    /// Commits the packet's connection, goes on in `table`.
    pub fn commit_as(self, commit: CtCommit, table: Option<TableId>) -> Self {
        self.then(CtCommit { table, ..commit }.into())
    }

    /// Fulfils clauses of conjunctions.
    pub fn fulfil(mut self, clauses: &[Conjunction]) -> Self {
        self.flow.actions.extend(clauses.iter().copied().map(Action::Conjunction));
        self
    }

    /// The flow, going on in `table`.
    pub fn goto(mut self, table: Option<TableId>) -> Flow {
        self.flow.goto = table;
        self.done()
    }

    /// The flow, ending with its actions. Without any it drops.
    pub fn done(mut self) -> Flow {
        // Flows of endpoints are kept by the hundred thousand, most of them with one action.
        self.flow.actions.shrink_to_fit();
        self.flow
    }

    fn then(mut self, action: Action) -> Self {
        self.flow.actions.push(action);
        self
    }
}

/// Commits to a zone, with marks of the connection.
pub(crate) fn commit_marked(zone: u16, marks: &[Mark]) -> CtCommit {
    let exec = marks.iter().map(|mark| Action::load(mark.range, mark.value)).collect();
    CtCommit { exec, ..CtCommit::new(zone) }
}

const SENDER_MAC_TO_RECEIVER: Move = copy(SubField::whole(Field::EthSrc), SubField::whole(Field::EthDst));
const ARP_SENDER_MAC_TO_TARGET: Move = copy(SubField::whole(Field::ArpSha), SubField::whole(Field::ArpTha));
const ARP_SENDER_ADDRESS_TO_TARGET: Move =
    copy(SubField::whole(Field::ArpSpa), SubField::whole(Field::ArpTpa));

/// A copy between ranges of one width; made for constants, where another width ends the compilation.
#[expect(clippy::panic, reason = "evaluated in constants")]
pub(crate) const fn copy(source: SubField, destination: SubField) -> Move {
    match Move::new(source, destination) {
        Some(copy) => copy,
        None => panic!("the ranges differ in width"),
    }
}
