//! Our flows of NetworkPolicies beside those that upstream Antrea installs for the same ones.
//!
//! `golden/upstream-policy-NODE-flows.txt`: recorded from upstream Antrea main at fc70f2bb7 (v2.8.0-dev), a cluster of two
//! Nodes with two Pods each and five policies: isolation, peers by Pod and Namespace, networks with exceptions, named
//! ports, ranges of ports; the flows of the tables of policies. What differs is listed here, and nothing else may.

use std::collections::BTreeSet;

use antrea_openflow::Flow;
use antrea_pipeline::policy::without;
use antrea_pipeline::{NodeTraffic, Pipeline};

use crate::cluster::{BridgeNames, policed};
use crate::policies::rules;
use crate::upstream_services::{FIRST, Recorded, SECOND, TABLES, check_same};

/// Tables of features that are not realized.
const NOT_REALIZED: [&str; 3] = ["AntreaPolicyEgressRule", "EgressMark", "AntreaPolicyIngressRule"];

/// The flows of upstream that ours are compared with.
fn expected(recorded: &str) -> BTreeSet<String> {
    recorded.lines().flat_map(|line| ours_instead(line.trim())).collect()
}

fn ours_instead(line: &str) -> Vec<String> {
    // Intercepts answers of DNS servers, for rules with names of Antrea-native policies.
    if line.contains("priority=64991") || line.contains("table=AntreaPolicy") && line.contains("priority=0 ")
    {
        return Vec::new();
    }
    // No packet leaves by an uplink.
    if line.contains("reg0=0x40/0xf0") {
        return Vec::new();
    }
    let line = line.replace("goto_table:AntreaPolicy", "goto_table:").replace("table=AntreaPolicy", "table=");
    // As upstream has it where there are no Antrea-native policies.
    let line = line.replace("priority=64990,", "priority=210,");
    // What leaves by the gateway does so by its port.
    let line = line.replace("priority=200,reg0=0x20/0xf0 ", "priority=200,reg0=0x20/0xf0,reg1=0x8001 ");
    // A connection is known only after its policies have admitted it.
    match line.split_once(" actions=").filter(|_| line.contains("-new+est") || line.contains("-new+rel")) {
        Some((matching, actions)) => {
            let flow = |source| {
                format!(
                    "{} actions={actions}",
                    matching.replace(",ip", &format!(",ct_mark={source:#x}/0xf,ip"))
                )
            };
            (1..=3).map(flow).collect()
        }
        None => vec![in_order(&line)],
    }
}

/// With its conjunctions in the order of rules: upstream's are in the order in which they came.
fn in_order(line: &str) -> String {
    let Some((head, conjunctions)) = line.split_once("actions=conjunction(") else { return line.to_owned() };
    let mut conjunctions: Vec<&str> = conjunctions.trim_end_matches(')').split("),conjunction(").collect();
    conjunctions.sort_by_key(|text| text.split_once(',').unwrap().0.parse::<u32>().unwrap());
    format!("{head}actions=conjunction({})", conjunctions.join("),conjunction("))
}

fn pipeline(node: &Recorded) -> Pipeline {
    policed(&node.pipeline(), NodeTraffic::PacketMark)
}

#[track_caller]
fn check(node: &Recorded, recorded: &str, text: &str) {
    let pipeline = pipeline(node);
    let pods = node.pods();
    let mut flows = node.node_flows(&pipeline);
    let mut policies = pipeline.policy_flows().unwrap();
    policies.apply(rules(&pods, text));
    flows.extend(policies.flows());
    let names = BridgeNames::of(&pipeline);
    let of_policies = |name: &str| name.contains("Egress") || name.contains("Ingress");
    let counts = |flow: &Flow| {
        let table = pipeline.table_names()[usize::from(flow.table.0)].1;
        // No policy is about what a Pod sends to itself.
        let to_itself = pods
            .iter()
            .filter_map(|pod| pod.ips.v4)
            .any(|ip| flow.to_string().contains(&format!("nw_src={ip},nw_dst={ip}")));
        of_policies(table) && !to_itself
    };
    let in_round_one = |mut flow: Flow| {
        flow.cookie.0 |= 1 << 48;
        flow.display(&names).to_string()
    };
    let ours: BTreeSet<String> = flows.into_iter().filter(counts).map(in_round_one).collect();
    check_same(&expected(recorded), &ours);
}

fn rest(network: &str, excepted: &[&str]) -> String {
    let excepted: Vec<_> = excepted.iter().map(|net| net.parse().unwrap()).collect();
    let rest = without(network.parse().unwrap(), &excepted);
    rest.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Rule 10 is one of upstream's for a named port that nobody has.
#[test]
fn the_first_node_enforces_policies_as_upstreams_does() {
    let ten = rest("10.0.0.0/8", &["10.11.1.0/24"]);
    let hosts = rest("172.18.0.0/16", &["172.18.2.1/32", "172.18.3.0/24"]);
    let text = format!(
        "2 in a from nobody
        3 out a to nobody
        4 in a from {hosts} on tcp:8000-8090 udp:8081
        6 out a to 10.11.1.3 on udp:1000-1999 tcp:8080
        8 out a to {ten} on udp:53 tcp:53
        9 in b from 10.11.0.3 10.11.1.3
        10 out a to nobody on nothing
        11 in a from 10.11.1.3 10.11.1.4 on tcp:8080 tcp:9090
        12 out a to 10.11.0.4 10.11.1.4 on tcp:8080"
    );
    check(&FIRST, include_str!("golden/upstream-policy-c2n1-flows.txt"), &text);
}

#[test]
fn the_second_node_enforces_policies_as_upstreams_does() {
    let text = "
        2 in a from nobody
        3 out a to nobody
        4 in b from any
        5 in a from 10.11.0.3 10.11.1.3
        6 out a to 10.11.0.3 10.11.1.3";
    check(&SECOND, include_str!("golden/upstream-policy-c2n2-flows.txt"), text);
}

#[test]
fn tables_are_upstreams_but_for_those_of_other_features() {
    let names: Vec<&str> = pipeline(&FIRST).table_names().into_iter().map(|(_, name)| name).collect();
    let upstreams: Vec<&str> = TABLES.into_iter().filter(|name| !NOT_REALIZED.contains(name)).collect();
    assert_eq!(names, upstreams);
}
