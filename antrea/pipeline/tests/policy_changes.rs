//! What changes of rules change in the switch: how many flows, in which order, and what it admits meanwhile.

use std::collections::BTreeSet;

use antrea_openflow::Flow;
use antrea_pipeline::policy::{
    ConjunctionId, Counter, Direction, FlowChange, FlowCounts, PolicyFlows, RuleChanges,
};
use antrea_pipeline::{NodeTraffic, Pipeline};
use antrea_types::Protocol;
use proptest::prelude::*;

use crate::cluster::{BridgeNames, DUAL, Families, V4, node, pods, policed, services};
use crate::policies::{changes, rules};
use crate::verdicts::{Sent, Switch, rules_admit};

fn pipeline(families: Families) -> Pipeline {
    policed(&node(families, services()), NodeTraffic::PacketMark)
}

fn enforced(pipeline: &Pipeline, rules: RuleChanges) -> PolicyFlows {
    let mut policies = pipeline.policy_flows().unwrap();
    policies.apply(rules);
    policies
}

/// Changes as lines: `+` a new flow, `~` one with other actions, `-` one that goes.
fn shown(pipeline: &Pipeline, changes: &[FlowChange]) -> String {
    let names = BridgeNames::of(pipeline);
    let line = |sign: &str, flow: &Flow| {
        format!("{sign} {}", flow.display(&names)).replace("cookie=0x20000000000, ", "")
    };
    let lines = changes.iter().map(|change| match change {
        FlowChange::Add(flow) => line("+", flow),
        FlowChange::Modify(flow) => line("~", flow),
        FlowChange::Delete(flow) => line("-", flow).split(" actions=").next().unwrap().to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What leads from the rules of one text to those of another.
fn between(old: &str, new: &str) -> String {
    let pipeline = pipeline(V4);
    let pods = pods(V4);
    let mut policies = enforced(&pipeline, rules(&pods, old));
    shown(&pipeline, &policies.apply(changes(&pods, old, new)))
}

#[test]
fn a_rule_admits_with_its_last_flow_and_isolates_after_that() {
    insta::assert_snapshot!(between("", "5 in a from 10.10.0.11 on tcp:80"), @"
    + table=IngressMetric, priority=200,ct_state=+new,ct_label=0x5/0xffffffff,ip actions=goto_table:ConntrackCommit
    + table=IngressMetric, priority=200,ct_state=-new,ct_label=0x5/0xffffffff,ip actions=goto_table:ConntrackCommit
    + table=IngressRule, priority=200,reg1=0x2 actions=conjunction(5,2/3)
    + table=IngressRule, priority=200,ip,nw_src=10.10.0.11 actions=conjunction(5,1/3)
    + table=IngressRule, priority=200,tcp,tp_dst=80 actions=conjunction(5,3/3)
    + table=IngressRule, priority=190,conj_id=5,ip actions=set_field:0x5->reg6,ct(commit,table=IngressMetric,zone=65520,exec(set_field:0x5/0xffffffff->ct_label))
    + table=IngressDefaultRule, priority=200,reg1=0x2 actions=drop
    ");
}

#[test]
fn a_rule_that_goes_stops_admitting_with_its_first_flow_but_for_what_is_opened() {
    insta::assert_snapshot!(between("5 out a to any", ""), @"
    - table=EgressDefaultRule, priority=200,ip,nw_src=10.10.0.10
    - table=EgressRule, priority=190,conj_id=5,ip
    - table=EgressRule, priority=200,ip,nw_src=10.10.0.10
    - table=EgressRule, priority=200,ip
    - table=EgressMetric, priority=200,ct_state=+new,ct_label=0x500000000/0xffffffff00000000,ip
    - table=EgressMetric, priority=200,ct_state=-new,ct_label=0x500000000/0xffffffff00000000,ip
    ");
}

#[test]
fn a_rule_is_narrowed_before_it_is_widened() {
    insta::assert_snapshot!(between("5 in a from 10.10.0.11 on tcp:80", "5 in a from 10.10.0.12 on udp:80"), @"
    - table=IngressRule, priority=200,ip,nw_src=10.10.0.11
    - table=IngressRule, priority=200,tcp,tp_dst=80
    + table=IngressRule, priority=200,ip,nw_src=10.10.0.12 actions=conjunction(5,1/3)
    + table=IngressRule, priority=200,udp,tp_dst=80 actions=conjunction(5,3/3)
    ");
}

#[test]
fn rules_that_share_a_flow_keep_each_others_action() {
    let both = "5 in a from 10.10.0.11\n 6 in b from 10.10.0.11 on tcp:80";
    insta::assert_snapshot!(between("5 in a from 10.10.0.11", both), @"
    + table=IngressMetric, priority=200,ct_state=+new,ct_label=0x6/0xffffffff,ip actions=goto_table:ConntrackCommit
    + table=IngressMetric, priority=200,ct_state=-new,ct_label=0x6/0xffffffff,ip actions=goto_table:ConntrackCommit
    + table=IngressRule, priority=200,reg1=0x3 actions=conjunction(6,2/3)
    ~ table=IngressRule, priority=200,ip,nw_src=10.10.0.11 actions=conjunction(5,1/2),conjunction(6,1/3)
    + table=IngressRule, priority=200,tcp,tp_dst=80 actions=conjunction(6,3/3)
    + table=IngressRule, priority=190,conj_id=6,ip actions=set_field:0x6->reg6,ct(commit,table=IngressMetric,zone=65520,exec(set_field:0x6/0xffffffff->ct_label))
    + table=IngressDefaultRule, priority=200,reg1=0x3 actions=drop
    ");
    insta::assert_snapshot!(between(both, "5 in a from 10.10.0.11"), @"
    - table=IngressDefaultRule, priority=200,reg1=0x3
    - table=IngressRule, priority=190,conj_id=6,ip
    - table=IngressRule, priority=200,reg1=0x3
    ~ table=IngressRule, priority=200,ip,nw_src=10.10.0.11 actions=conjunction(5,1/2)
    - table=IngressRule, priority=200,tcp,tp_dst=80
    - table=IngressMetric, priority=200,ct_state=+new,ct_label=0x6/0xffffffff,ip
    - table=IngressMetric, priority=200,ct_state=-new,ct_label=0x6/0xffffffff,ip
    ");
}

#[test]
fn what_two_rules_isolate_stays_closed_while_one_of_them_is_there() {
    insta::assert_snapshot!(between("5 in a from nobody\n6 in a from nobody", "6 in a from nobody"), @"
    - table=IngressRule, priority=190,conj_id=5,ip
    ~ table=IngressRule, priority=200,reg1=0x2 actions=conjunction(6,2/2)
    - table=IngressMetric, priority=200,ct_state=+new,ct_label=0x5/0xffffffff,ip
    - table=IngressMetric, priority=200,ct_state=-new,ct_label=0x5/0xffffffff,ip
    ");
}

#[test]
fn nothing_changes_where_nothing_changes() {
    let text = "5 in a b from 10.10.0.11 on tcp:80 udp:1-100\n6 out a to any";
    assert_eq!(between(text, text), "");
}

#[test]
fn peers_of_a_family_that_the_node_has_not_are_nobody() {
    insta::assert_snapshot!(between("5 in a from nobody", "5 in a from fd00:10::b fd00::/8"), @"");
}

fn addresses(count: u32) -> String {
    let first = u32::from_be_bytes([10, 64, 0, 0]);
    (0..count).map(|number| format!(" {}", std::net::Ipv4Addr::from_bits(first + number))).collect()
}

#[test]
fn the_numbers_of_rules_can_be_read_from_their_flows() {
    let (pipeline, pods) = (pipeline(DUAL), pods(DUAL));
    let tables: Vec<_> = pipeline.policy_rule_tables().collect();
    let flows =
        enforced(&pipeline, rules(&pods, "5 in a from 10.10.0.11 on tcp:80\n7 out a to nobody")).flows();
    let of_rules = flows.iter().filter(|flow| tables.contains(&flow.table));
    let numbers: BTreeSet<_> = of_rules.filter_map(ConjunctionId::admitted_by).collect();
    assert_eq!(numbers.into_iter().map(ConjunctionId::get).collect::<Vec<_>>(), [5, 7]);
}

#[test]
fn what_flows_count_can_be_read_from_them() {
    let (pipeline, pods) = (pipeline(DUAL), pods(DUAL));
    let tables: Vec<_> = pipeline.policy_metric_tables().collect();
    let flows = enforced(&pipeline, rules(&pods, "5 in a from 10.10.0.11\n7 out a to any on tcp:80")).flows();
    let (of_metrics, others): (Vec<_>, Vec<_>) =
        flows.iter().chain(&pipeline.base_flows()).cloned().partition(|flow| tables.contains(&flow.table));
    let shown = |counter: Counter| {
        let Counter { rule, direction, family, packets } = counter;
        format!("{rule} {direction:?} {family:?} {packets:?}")
    };
    assert_eq!(
        of_metrics.iter().filter_map(Counter::of).map(shown).collect::<Vec<_>>(),
        [
            "5 Ingress V4 First",
            "5 Ingress V4 Later",
            "5 Ingress V6 First",
            "5 Ingress V6 Later",
            "7 Egress V4 First",
            "7 Egress V4 Later",
            "7 Egress V6 First",
            "7 Egress V6 Later",
        ]
    );
    assert_eq!(others.iter().filter_map(Counter::of).count(), 0);
}

#[test]
fn ten_addresses_more_than_ten_thousand_are_ten_flows() {
    let pods = pods(V4);
    let rule = |count| rules(&pods, &format!("5 in a b from{} on tcp:80", addresses(count)));
    let mut policies = enforced(&pipeline(V4), rule(10_000));
    let more = FlowCounts { added: 10, ..FlowCounts::default() };
    assert_eq!(FlowCounts::of(&policies.apply(rule(10_010))), more);
    let fewer = FlowCounts { deleted: 10, ..FlowCounts::default() };
    assert_eq!(FlowCounts::of(&policies.apply(rule(10_000))), fewer);
}

#[test]
fn two_rules_of_the_same_addresses_have_their_flows_in_common() {
    let pods = pods(V4);
    let mut policies = enforced(&pipeline(V4), rules(&pods, &format!("5 in a from{}", addresses(100))));
    let counts = FlowCounts::of(&policies.apply(rules(&pods, &format!("6 in b from{}", addresses(110)))));
    // Ten addresses, Pod b, its isolation, and the three flows of a rule of its own.
    assert_eq!(counts, FlowCounts { added: 10 + 2 + 3, modified: 100, deleted: 0 });
}

const OTHERS: [&str; 3] = ["10.10.1.10", "192.0.2.1", "2001:db8::1"];
const SERVICES: [(Protocol, u16); 4] =
    [(Protocol::Tcp, 80), (Protocol::Tcp, 81), (Protocol::Udp, 80), (Protocol::Sctp, 80)];

/// What becomes of packets while rules change.
struct Walk {
    old: RuleChanges,
    new: RuleChanges,
    /// The switch after each of the changes.
    steps: Vec<Switch>,
}

impl Walk {
    fn new(old: &str, new: &str) -> Self {
        let (pipeline, pods) = (pipeline(DUAL), pods(DUAL));
        let mut policies = pipeline.policy_flows().unwrap();
        let mut switch = Switch::new(&pipeline);
        for change in policies.apply(rules(&pods, old)) {
            switch.change(&change);
        }
        let mut steps = vec![switch.clone()];
        for change in policies.apply(changes(&pods, old, new)) {
            switch.change(&change);
            steps.push(switch.clone());
        }
        let all = policies.flows();
        assert_eq!(switch.flows(), all.iter().collect(), "the flows of rules are what changes lead to");
        Self { old: rules(&pods, old), new: rules(&pods, new), steps }
    }

    /// Calls `check` with each packet in each direction: whether the old rules admit it, the new ones, each step.
    fn check(&self, check: impl Fn(&str, bool, bool, &[bool])) {
        for sent in Sent::all(&pods(DUAL), &OTHERS, &SERVICES) {
            for direction in Direction::ALL.into_iter().filter(|direction| sent.concerns(*direction)) {
                let [old, new] = [&self.old, &self.new].map(|rules| rules_admit(rules, direction, &sent));
                let steps: Vec<bool> = self.steps.iter().map(|step| step.admits(direction, &sent)).collect();
                check(&format!("{direction:?} {sent:?}"), old, new, &steps);
            }
        }
    }

    fn begins_and_ends_as_its_rules_say(&self) {
        self.check(|sent, old, new, steps| {
            assert_eq!((steps.first(), steps.last()), (Some(&old), Some(&new)), "{sent}");
        });
    }

    fn admits_nothing_else_meanwhile(&self) {
        self.check(|sent, old, new, steps| {
            assert!(old || new || !steps.contains(&true), "{sent}: {steps:?}");
        });
    }

    fn keeps_what_was_admitted_and_will_be(&self) {
        self.check(|sent, old, new, steps| {
            assert!(!(old && new && steps.contains(&false)), "{sent}: {steps:?}");
        });
    }
}

/// A rule of this number.
fn any_rule(id: u32) -> impl Strategy<Value = String> {
    let subset = |words: &'static [&'static str]| {
        proptest::sample::subsequence(words, 0..=words.len()).prop_map(|words| words.join(" "))
    };
    let peers =
        subset(&["10.10.0.10", "10.10.0.0/24", "10.10.1.10", "192.0.2.0/24", "fd00:10::b", "fd00::/8"]);
    let peers = prop_oneof![4 => peers, 1 => Just("any".to_owned())];
    let services = prop_oneof![
        Just(String::new()),
        subset(&["tcp:80", "tcp:80-81", "udp", "sctp:1-100"])
            .prop_map(|words| format!(" on nothing {words}")),
    ];
    (subset(&["a", "b"]), proptest::bool::ANY, peers, services).prop_map(
        move |(pods, inward, peers, services)| {
            let (direction, word) = if inward { ("in", "from") } else { ("out", "to") };
            let peers = if peers.is_empty() { "nobody" } else { &peers };
            format!("{id} {direction} {pods} {word} {peers}{services}\n")
        },
    )
}

/// Some of the rules with these numbers.
fn any_rules(ids: &[u32]) -> impl Strategy<Value = String> {
    let rules = ids.iter().map(|id| proptest::option::weighted(0.7, any_rule(*id)));
    rules.collect::<Vec<_>>().prop_map(|rules| rules.into_iter().flatten().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn no_step_admits_what_neither_rules_admit(old in any_rules(&[2, 3, 4]), new in any_rules(&[2, 3, 4])) {
        let walk = Walk::new(&old, &new);
        walk.begins_and_ends_as_its_rules_say();
        walk.admits_nothing_else_meanwhile();
    }

    #[test]
    fn rules_in_place_of_others_keep_what_both_admit(old in any_rules(&[2, 3]), new in any_rules(&[4, 5])) {
        let walk = Walk::new(&old, &new);
        walk.admits_nothing_else_meanwhile();
        walk.keeps_what_was_admitted_and_will_be();
    }
}

#[test]
fn a_rule_that_gets_other_peers_keeps_those_that_it_had() {
    let walk =
        Walk::new("2 in a from 10.10.0.11 10.10.1.10 on tcp:80", "2 in a b from 10.10.0.11 on tcp:80 tcp:81");
    walk.begins_and_ends_as_its_rules_say();
    walk.admits_nothing_else_meanwhile();
    walk.keeps_what_was_admitted_and_will_be();
}

#[test]
fn zero_is_no_rules_number() {
    assert_eq!(ConjunctionId::new(0), None);
}
