//! What the controller is told of traffic, for what flows have counted.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_agent_policy::{Counted, Statistics};
use antrea_pipeline::policy::{ConjunctionId, Counter, Direction, Packets};
use antrea_shared_api::controlplane::v1beta2::NetworkPolicyStats;
use antrea_shared_api::stats::v1alpha1::TrafficStats;
use antrea_types::IpFamily;

use crate::node::{Node, PODS};

/// A Node whose flows count.
struct Counting {
    node: Node,
    statistics: Statistics,
}

impl Counting {
    fn new(policies: &str) -> Self {
        let node = Node::told(&format!("{PODS}\n{policies}"));
        Self { node, statistics: Statistics::default() }
    }

    #[track_caller]
    fn tell(&mut self, lines: &str) {
        self.node.tell(lines);
        self.node.reconcile();
    }

    /// What the controller is to be told when flows have counted this. It is not told.
    #[track_caller]
    fn untold(&mut self, flows: &str) -> String {
        let counted = flows.split(", ").filter(|flow| !flow.is_empty()).map(counted).collect();
        let traffic = self.statistics.since_last(counted);
        self.statistics.attribute(traffic, &self.node.reconciler, &self.node.script.cache);
        let Some(summary) = self.statistics.summary(&"node-a".parse().unwrap()) else {
            return "nothing".to_owned();
        };
        assert_eq!(summary.metadata.name, "node-a");
        let kinds = [
            ("", summary.network_policies),
            ("cluster ", summary.antrea_cluster_network_policies),
            ("antrea ", summary.antrea_network_policies),
        ];
        let lines = kinds.into_iter().flat_map(|(kind, policies)| {
            policies.into_iter().map(move |policy| format!("{kind}{}", shown(&policy)))
        });
        lines.collect::<Vec<_>>().join("; ")
    }

    /// What it is told.
    #[track_caller]
    fn check(&mut self, flows: &str, expected: &str) {
        assert_eq!(self.untold(flows), expected, "{flows}");
        self.statistics.told();
    }
}

/// `2 first 3/180 @60`: the flow of number 2 for first packets is there for 60 seconds and has counted 3 packets of 180 bytes.
fn counted(text: &str) -> (Counter, Counted) {
    let words: Vec<_> = text.split(' ').collect();
    let [number, packets, count, age] = words[..] else { panic!("{text}") };
    let packets = match packets {
        "first" => Packets::First,
        _ => Packets::Later,
    };
    let rule = ConjunctionId::new(number.parse().unwrap()).unwrap();
    let counter = Counter { rule, direction: Direction::Ingress, family: IpFamily::V4, packets };
    let (packets, bytes) = count.split_once('/').unwrap();
    let age = Duration::from_secs(age.trim_start_matches('@').parse().unwrap());
    (counter, Counted { age, packets: packets.parse().unwrap(), bytes: bytes.parse().unwrap() })
}

fn shown(policy: &NetworkPolicyStats) -> String {
    let traffic = |traffic: TrafficStats| {
        format!("{} sessions {} packets {} bytes", traffic.sessions, traffic.packets, traffic.bytes)
    };
    let rules: BTreeMap<_, _> =
        policy.rule_traffic_stats.iter().map(|rule| (&rule.name, traffic(rule.traffic_stats))).collect();
    let uid = &policy.network_policy.uid;
    match rules.is_empty() {
        true => format!("{uid} {}", traffic(policy.traffic_stats)),
        false => {
            assert_eq!(policy.traffic_stats, TrafficStats::default());
            format!("{uid} {rules:?}")
        }
    }
}

const P: &str = "np ADDED p to=a type=K8sNetworkPolicy | In g Allow";

#[test]
fn first_packets_are_sessions() {
    Counting::new(P).check("2 first 3/180 @60, 2 later 7/900 @60", "p 3 sessions 10 packets 1080 bytes");
}

#[test]
fn what_was_told_is_not_told_again() {
    let mut counting = Counting::new(P);
    counting.check("2 first 3/180 @60", "p 3 sessions 3 packets 180 bytes");
    counting.check("2 first 3/180 @120", "nothing");
    counting.check("2 first 4/240 @180", "p 1 sessions 1 packets 60 bytes");
}

#[test]
fn what_could_not_be_told_is_told_the_next_time() {
    let mut counting = Counting::new(P);
    assert_eq!(counting.untold("2 first 3/180 @60"), "p 3 sessions 3 packets 180 bytes");
    assert_eq!(counting.untold("2 first 4/240 @120"), "p 4 sessions 4 packets 240 bytes");
    counting.check("", "p 4 sessions 4 packets 240 bytes");
    counting.check("", "nothing");
}

#[test]
fn a_flow_that_is_made_anew_counts_from_nothing() {
    let mut counting = Counting::new(P);
    counting.check("2 first 3/180 @60", "p 3 sessions 3 packets 180 bytes");
    counting.check("2 first 1/60 @20", "p 1 sessions 1 packets 60 bytes");
    counting.check("2 first 9/540 @10", "p 9 sessions 9 packets 540 bytes");
    counting.check("", "nothing");
    counting.check("2 first 9/540 @70", "p 9 sessions 9 packets 540 bytes");
}

#[test]
fn a_policy_counts_what_all_its_rules_let_through() {
    let mut counting = Counting::new(&format!("{P} | In g Allow on=TCP:80 | Out g Allow"));
    counting
        .check("2 first 1/60 @60, 3 first 2/60 @60, 4 later 5/60 @60", "p 3 sessions 8 packets 180 bytes");
}

#[test]
fn policies_that_say_the_same_count_alike() {
    let mut counting = Counting::new(&format!("{P}\n{}", P.replace("ADDED p", "ADDED q")));
    counting.check("2 first 1/60 @60", "p 1 sessions 1 packets 60 bytes; q 1 sessions 1 packets 60 bytes");
}

/// The groups have the same members, so that the rules have one number.
#[test]
fn a_policy_that_says_the_same_twice_counts_once() {
    let policy = P.replace("In g Allow", "In g Allow | In h Allow");
    let mut counting = Counting::new(&format!("ag ADDED h n/y=10.0.1.1 n/z=10.0.1.2,fd01::2\n{policy}"));
    counting.check("2 first 1/60 @60", "p 1 sessions 1 packets 60 bytes");
}

#[test]
fn rules_of_antreas_policies_count_by_themselves() {
    let mut counting = Counting::new(
        "np ADDED c to=a type=AntreaClusterNetworkPolicy | In g Allow name=web | Out g Allow name=db\n\
         np ADDED n to=a type=AntreaNetworkPolicy | In g Allow name=app",
    );
    counting.check(
        "2 first 1/60 @60, 3 later 2/120 @60",
        "cluster c {\"db\": \"0 sessions 2 packets 120 bytes\", \"web\": \"1 sessions 1 packets 60 bytes\"}; \
         antrea n {\"app\": \"1 sessions 1 packets 60 bytes\"}",
    );
}

#[test]
fn a_rule_that_is_replaced_still_counts_for_its_policy() {
    let mut counting = Counting::new(P);
    counting.tell("np MODIFIED p to=a type=K8sNetworkPolicy | Out g Allow");
    counting.check("2 first 1/60 @60, 3 first 2/120 @1", "p 3 sessions 3 packets 180 bytes");
}

#[test]
fn what_is_nobodys_is_not_told() {
    let mut counting = Counting::new(&format!("{P}\nnp ADDED q to=a | In g Allow on=TCP:80"));
    counting.check("9 first 1/60 @60, 3 first 1/60 @60", "nothing");
    counting.tell("np ADDED r to=a type=AdminNetworkPolicy | Out g Allow");
    counting.check("4 first 1/60 @60", "nothing");
    counting.tell("np DELETED p");
    counting.check("2 first 1/60 @60", "nothing");
}

#[test]
fn a_policy_that_is_gone_is_not_kept() {
    let mut counting = Counting::new(P);
    assert_eq!(counting.untold("2 first 3/180 @60"), "p 3 sessions 3 packets 180 bytes");
    counting.tell("np DELETED p");
    counting.check("", "nothing");
}
