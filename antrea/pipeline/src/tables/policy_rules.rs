//! The flows that the rule, default and metric tables of both directions have alike. They differ in where a rule's number is
//! kept.

use antrea_openflow::{Action, Conjunction, CtCommit, CtState, Field, Flow, FlowPriority, Match, SubField};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::fields::{
    EGRESS_RULE, EGRESS_RULE_OF_CONNECTION, INGRESS_RULE, INGRESS_RULE_OF_CONNECTION, PktSource, ct_zone,
};
use crate::flow::{FlowBuilder, HIGH, LOW, NORMAL};
use crate::layout::Layout;
use crate::order::Table;
use crate::policy::{ConjunctionId, Counter, Direction, Packets};
use crate::tables::{
    egress_default_rule, egress_metric, egress_rule, ingress_default_rule, ingress_metric, ingress_rule,
};

/// Where a direction's rules are, and their numbers.
struct Place {
    rule: &'static Table,
    default: &'static Table,
    metric: &'static Table,
    /// The rule that admits a packet.
    register: SubField,
    /// The rule that admitted its connection.
    label: SubField,
}

const EGRESS: Place = Place {
    rule: &egress_rule::TABLE,
    default: &egress_default_rule::TABLE,
    metric: &egress_metric::TABLE,
    register: EGRESS_RULE,
    label: EGRESS_RULE_OF_CONNECTION,
};

const INGRESS: Place = Place {
    rule: &ingress_rule::TABLE,
    default: &ingress_default_rule::TABLE,
    metric: &ingress_metric::TABLE,
    register: INGRESS_RULE,
    label: INGRESS_RULE_OF_CONNECTION,
};

const fn place(direction: Direction) -> &'static Place {
    match direction {
        Direction::Egress => &EGRESS,
        Direction::Ingress => &INGRESS,
    }
}

/// Packets of connections in which both sides have sent some, and what is related to them: who was let in stays.
///
/// A connection has a ConnSource as soon as one of its packets has passed the policies of both its Pods. One without was
/// committed by a Service or by the sender's policy, and then refused: what comes after that has to be admitted, too, in
/// either direction.
pub fn known(layout: &Layout, direction: Direction, family: IpFamily) -> Vec<Flow> {
    let place = place(direction);
    let flow = |(state, source): (u32, PktSource)| {
        let state = CtState::new().set(state).unset(CtState::NEW);
        let flow = flow(layout, place.rule, HIGH)?.matching(Match::new().ip(family).ct_state(state));
        Some(flow.marked(source.connection_mark()).goto(layout.id(place.metric)))
    };
    let states = [CtState::EST, CtState::REL].into_iter();
    states.flat_map(|state| PktSource::ALL.map(|source| (state, source))).filter_map(flow).collect()
}

/// Packets of which `matching` fulfils one clause each of some rules.
pub fn clause(
    layout: &Layout,
    direction: Direction,
    matching: Match,
    fulfils: &[Conjunction],
) -> Option<Flow> {
    let flow = flow(layout, place(direction).rule, NORMAL)?.matching(matching);
    Some(flow.fulfil(fulfils).done())
}

/// Packets that fulfil all clauses of a rule.
pub fn admitted(
    layout: &Layout,
    direction: Direction,
    rule: ConjunctionId,
    family: IpFamily,
) -> Option<Flow> {
    let place = place(direction);
    let matching = Match::new().ip(family).conj_id(rule.get());
    let flow = flow(layout, place.rule, LOW)?.matching(matching).load_bits(place.register, rule.get());
    let commit = CtCommit::new(ct_zone(family)).exec(Action::load(place.label, rule.get()));
    Some(flow.commit_as(commit, layout.id(place.metric)).done())
}

/// What else an isolated Pod sends or gets.
pub fn isolated(layout: &Layout, direction: Direction, matching: Match) -> Option<Flow> {
    Some(flow(layout, place(direction).default, NORMAL)?.matching(matching).done())
}

/// First and later packets of the connections that a rule has admitted.
pub fn counted(layout: &Layout, direction: Direction, rule: ConjunctionId, family: IpFamily) -> Vec<Flow> {
    let metric = place(direction).metric;
    let flow = |packets| {
        let matching = packets_of(Counter { rule, direction, family, packets });
        Some(flow(layout, metric, NORMAL)?.matching(matching).goto(layout.after(metric)))
    };
    Packets::ALL.into_iter().filter_map(flow).collect()
}

/// Whose packets a flow of [`counted`] counts.
pub fn counter(flow: &Flow) -> Option<Counter> {
    let label = flow.matching.get(Field::CtLabel)?;
    let direction = Direction::ALL.into_iter().find(|side| place(*side).label.mask() == label.mask)?;
    let number = place(direction).label.extract(label.value);
    let rule = ConjunctionId::new(u32::try_from(number).ok()?)?;
    let counters = IpFamily::ALL
        .into_iter()
        .flat_map(|family| Packets::ALL.map(|packets| Counter { rule, direction, family, packets }));
    counters.into_iter().find(|counter| packets_of(*counter) == flow.matching)
}

fn packets_of(Counter { rule, direction, family, packets }: Counter) -> Match {
    Match::new().ip(family).ct_state(packets.state()).bits(place(direction).label, rule.get())
}

fn flow(layout: &Layout, table: &Table, priority: FlowPriority) -> Option<FlowBuilder> {
    Some(layout.open(table)?.flow(priority, Category::NetworkPolicy))
}
