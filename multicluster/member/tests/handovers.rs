//! When another Node becomes the Gateway, because agents report that they reach nobody, or report nothing.

use std::time::Duration;

use antrea_mc_member::area::Area;
use antrea_mc_member::gateway::Election;
use antrea_mc_member::kind::Kind;
use antrea_mc_member::objects::Key;
use jiff::Timestamp;
use serde_json::json;

use Agent::{Away, CutOff, Works};

use crate::gateways::{YES, election, node};
use crate::objects::Cluster;

const PROBE: &str = "{kind: Gateway, metadata: {name: n1, namespace: kube-system}, gatewayIP: 172.18.0.1, internalIP: 172.18.0.1, serviceCIDR: 10.96.0.0/16, status: {probe: {heartbeatTime: '2026-11-21T09:00:00.000000Z', peers: [{clusterID: east, gatewayIP: 172.18.0.9, reached: false}], nodes: {probed: 2, reached: 0}}}}";

#[test]
fn a_gateway_that_reaches_nobody_is_replaced_and_one_that_lost_a_peer_is_not() {
    let mut cluster = Cluster::of(&[node(1, YES, ""), node(2, YES, ""), PROBE.to_owned()].concat());
    insta::assert_snapshot!(cluster.settle_briefly(&election()), @"
    create Gateway kube-system/n2
    delete Gateway kube-system/n1
    ");
    let one_lost = PROBE.replace("reached: 0", "reached: 1");
    let mut cluster = Cluster::of(&[node(1, YES, ""), node(2, YES, ""), one_lost].concat());
    assert_eq!(cluster.settle(&election()), "");
    let mut alone = Cluster::of(&[node(1, YES, ""), PROBE.to_owned()].concat());
    assert_eq!(alone.settle(&election()), "", "nobody can take over");
}

/// How the agent of a Node is, while that is the Gateway.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Agent {
    /// It reports that it reaches others.
    Works,
    /// It reports that it reaches nobody.
    CutOff,
    /// It reports nothing.
    Away,
}

/// A cluster whose Nodes may all be the Gateway, and time that passes.
struct Life {
    cluster: Cluster,
    election: Election,
    now: u64,
}

impl Life {
    fn new() -> Self {
        let cluster = Cluster::of(&[node(1, YES, ""), node(2, YES, "")].concat());
        Self { cluster, election: election(), now: 0 }
    }

    /// So many seconds with the agents of n1 and n2 like this; who is the Gateway, and since when of these seconds.
    fn pass(&mut self, seconds: u64, agents: [Agent; 2]) -> String {
        let mut seen = Vec::new();
        for second in (0..seconds).step_by(2) {
            self.report(agents);
            self.election.tick(&self.cluster.objects, Duration::from_secs(self.now));
            self.cluster.settle(&self.election);
            let names: Vec<String> =
                self.cluster.objects.all(Kind::Gateway).map(|(key, _)| key.name.clone()).collect();
            let names = names.join("+");
            if seen.last().is_none_or(|(_, last)| *last != names) {
                seen.push((second, names));
            }
            self.now += 2;
        }
        seen.iter().map(|(second, names)| format!("{second} {names}")).collect::<Vec<_>>().join(", ")
    }

    /// Agents report every two seconds.
    fn report(&mut self, agents: [Agent; 2]) {
        for (name, agent) in ["n1", "n2"].into_iter().zip(agents) {
            let key = Key::new(Kind::Gateway, "kube-system", name);
            let Some(mut gateway) = self.cluster.objects.get(&key).cloned() else { continue };
            if agent == Away {
                continue;
            }
            // Who does not answer the first time is not counted yet.
            let is_first = gateway.get("status").is_none();
            let nodes = match agent {
                Works => json!({"probed": 2, "reached": 2}),
                _ if is_first => json!({"probed": 0, "reached": 0}),
                _ => json!({"probed": 2, "reached": 0}),
            };
            let time = Timestamp::from_second(i64::try_from(self.now).unwrap()).unwrap().to_string();
            gateway["status"] = json!({"probe": {"heartbeatTime": time, "nodes": nodes}});
            self.cluster.objects.insert(Kind::Gateway, gateway);
        }
    }
}

#[test]
fn an_agent_that_reports_nothing_new_for_8_seconds_is_away() {
    let mut life = Life::new();
    assert_eq!(life.pass(60, [Works, Works]), "0 n1");
    assert_eq!(life.pass(60, [Away, Works]), "0 n1, 6 n2", "the last report was two seconds old");
}

#[test]
fn silence_is_counted_afresh_when_the_api_server_was_away() {
    let mut life = Life::new();
    life.pass(60, [Works, Works]);
    life.pass(6, [Away, Works]);
    life.election.interrupted(Duration::from_secs(life.now));
    assert_eq!(life.pass(60, [Away, Works]), "0 n1, 8 n2");
}

#[test]
fn an_agent_that_never_reports_is_upstreams() {
    assert_eq!(Life::new().pass(60, [Away, Works]), "0 n1");
}

#[test]
fn a_gateway_that_is_cut_off_is_replaced_by_one_that_is_not() {
    let mut life = Life::new();
    life.pass(60, [Works, Works]);
    assert_eq!(life.pass(60, [CutOff, Works]), "0 n2");
}

#[test]
fn the_gateway_comes_back_when_the_other_one_fails_later() {
    let mut life = Life::new();
    life.pass(60, [Works, Works]);
    assert_eq!(life.pass(20, [CutOff, Works]), "0 n2");
    assert_eq!(life.pass(20, [Works, CutOff]), "0 n1");
    assert_eq!(life.pass(20, [Away, Works]), "0 n1, 6 n2");
    assert_eq!(life.pass(20, [Works, Away]), "0 n2, 6 n1");
}

#[test]
fn a_gateway_that_works_goes_when_the_new_one_does_too() {
    for (agents, expected) in [
        ([Works, Works], "0 n1+n2, 2 n2"),
        ([Works, CutOff], "0 n1+n2, 12 n2"),
        ([Works, Away], "0 n1+n2, 12 n2"),
        ([CutOff, Works], "0 n2"),
        ([Away, Works], "0 n1+n2, 2 n2"),
        ([Away, Away], "0 n1+n2, 6 n2"),
    ] {
        let mut life = Life::new();
        life.pass(60, [Works, Works]);
        life.cluster.apply(&node(1, YES, "spec: {unschedulable: true}"));
        assert_eq!(life.pass(60, agents), expected, "{agents:?}");
    }
}

#[test]
fn a_gateway_whose_node_is_gone_does_not_wait_for_the_new_one() {
    let mut life = Life::new();
    life.pass(60, [Works, Works]);
    life.cluster.delete(Kind::Node, "", "n1");
    assert_eq!(life.pass(60, [Works, Away]), "0 n2");
}

const HANDOVER: &str = "
kind: Gateway
metadata: {name: n1, namespace: kube-system, creationTimestamp: '2026-11-21T09:00:00Z'}
gatewayIP: 172.18.0.1
internalIP: 172.18.0.1
serviceCIDR: 10.96.0.0/16
status: {probe: {heartbeatTime: '2026-11-21T10:00:00.000000Z', peers: [{clusterID: east, reached: true}, {clusterID: north, reached: false}], nodes: {probed: 2, reached: 2}}}
---
kind: Gateway
metadata: {name: n2, namespace: kube-system, creationTimestamp: '2026-11-21T10:00:00Z'}
gatewayIP: 172.18.0.2
internalIP: 172.18.0.2
serviceCIDR: 10.96.0.0/16
status: {probe: {heartbeatTime: '2026-11-21T10:00:00.000000Z', ";

#[test]
fn the_new_gateway_has_to_reach_whom_the_old_one_reaches() {
    for (probe, done) in [
        ("nodes: {probed: 2, reached: 2}", ""),
        ("peers: [{clusterID: north, reached: true}], nodes: {probed: 2, reached: 2}", ""),
        ("peers: [{clusterID: east, reached: false}], nodes: {probed: 2, reached: 2}", ""),
        ("peers: [{clusterID: east, reached: true}], nodes: {probed: 2, reached: 0}", ""),
        (
            "peers: [{clusterID: east, reached: true}], nodes: {probed: 2, reached: 1}",
            "delete Gateway kube-system/n1\n",
        ),
    ] {
        let mut cluster = Cluster::of(&[node(2, YES, ""), node(1, "", "")].concat());
        cluster.apply(&format!("{HANDOVER}{probe}}}}}"));
        assert_eq!(cluster.settle_briefly(&election()), done, "{probe}");
    }
}

#[test]
fn gateways_that_all_reach_nobody_do_not_take_turns() {
    let mut life = Life::new();
    life.pass(60, [Works, Works]);
    assert_eq!(life.pass(590, [CutOff, CutOff]), "0 n2");
    assert_eq!(life.pass(60, [CutOff, Works]), "0 n2", "it works again");
    assert_eq!(life.pass(60, [CutOff, CutOff]), "0 n1", "the other one may do now");
}

#[test]
fn who_has_failed_is_tried_again_at_last() {
    let mut life = Life::new();
    life.pass(60, [Works, Works]);
    assert_eq!(life.pass(700, [Works, CutOff]), "0 n1");
    assert_eq!(life.pass(20, [CutOff, CutOff]), "0 n2");
    assert_eq!(life.pass(700, [Works, CutOff]), "0 n2, 580 n1");
}

#[test]
fn a_gateway_whose_agent_is_away_is_better_than_one_that_is_cut_off() {
    let mut life = Life::new();
    life.pass(60, [Works, Works]);
    assert_eq!(life.pass(300, [Away, CutOff]), "0 n1, 6 n2, 10 n1");
    assert_eq!(life.pass(20, [Works, CutOff]), "0 n1");
}
