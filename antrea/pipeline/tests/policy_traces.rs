//! Packets and policies in a real Open vSwitch (`ofproto/trace`), on both kinds of datapath as far as flows tell them apart.
//! The Node and its policies are in [`crate::policed`]; outcomes are the last table, and what it does.

use std::sync::{Mutex, Weak};

use antrea_pipeline::NodeTraffic;
use antrea_pipeline::policy::Direction;
use antrea_types::Protocol;

use crate::bridge::{Bridge, shared};
use crate::cluster::{
    A_LINK_LOCAL, B_LINK_LOCAL, BridgeNames, DUAL, POD_A, POD_B, node, pods, policed, services,
};
use crate::policed::{RULES, addressing, flows, marking, serving};
use crate::policies::rules;
use crate::served::everything;
use crate::service_passages::{A, B, GATEWAY};
use crate::verdicts::{Sent, Switch};

/// The last table that a packet comes to, and what becomes of it there.
fn last(walk: &str) -> String {
    walk.lines().last().and_then(|line| line.split(" > ").last()).unwrap_or_default().to_owned()
}

/// A packet as `ofproto/trace` wants it: with its protocol before everything that depends on that.
fn packet(text: &str) -> String {
    let (protocols, fields): (Vec<&str>, Vec<&str>) = text.split(',').partition(|word| !word.contains('='));
    let fields = fields.join(",").replace("tp_", &format!("{}_", protocols[0].trim_end_matches('6')));
    format!("{},nw_ttl=64,{fields}", protocols.join(","))
}

impl Bridge {
    fn outcome(&self, text: &str) -> String {
        last(&self.walk(&packet(text)))
    }

    fn outcome_in(&self, state: &str, text: &str) -> String {
        last(&self.walk_in(state, &packet(text)))
    }
}

const A_TO_B: &str = "in_port=2,dl_src=0a:00:00:00:00:0a,dl_dst=0a:00:00:00:00:0b";
const B_TO_A: &str = "in_port=3,dl_src=0a:00:00:00:00:0b,dl_dst=0a:00:00:00:00:0a";
const A_TO_GATEWAY: &str = "in_port=2,dl_src=0a:00:00:00:00:0a,dl_dst=0a:00:00:00:00:01";
const GATEWAY_TO_B: &str = "in_port=32769,dl_src=0a:00:00:00:00:01,dl_dst=0a:00:00:00:00:0b";
const NODE_TO_B: &str = "in_port=32769,dl_src=02:6d:80:00:00:00,dl_dst=0a:00:00:00:00:0b";
const FROM_TUNNEL: &str =
    "in_port=32768,tun_src=172.18.0.2,tun_dst=172.18.0.1,dl_src=0c:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff";

const EGRESS_DENIED: &str = "EgressDefaultRule: drop";
const INGRESS_DENIED: &str = "IngressDefaultRule: drop";
const TO_B: &str = "Output: pod-b";

#[test]
fn the_switch_prints_our_policy_flows_as_we_do() {
    let Some(bridge) = addressing() else { return };
    let dump = bridge.dump();
    let theirs: std::collections::BTreeSet<&str> = dump.lines().map(str::trim).collect();
    let ours = flows(&serving(everything(DUAL), NodeTraffic::SourceMac));
    let missing: Vec<String> =
        ours.iter().map(ToString::to_string).filter(|flow| !theirs.contains(flow.as_str())).collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn a_packet_passes_if_the_policies_of_both_pods_admit_it() {
    let Some(bridge) = marking() else { return };
    let v4 =
        |service: &str| bridge.outcome(&format!("{A_TO_B},nw_src=10.10.0.10,nw_dst=10.10.0.11,{service}"));
    let v6 = |service: &str| {
        bridge.outcome(&format!("{A_TO_B},ipv6_src=fd00:10::a,ipv6_dst=fd00:10::b,{service}"))
    };
    assert_eq!(v4("tcp,tp_dst=80"), TO_B);
    assert_eq!(v4("udp,tp_dst=2001"), TO_B, "by its port");
    assert_eq!(v4("tcp,tp_dst=81"), INGRESS_DENIED);
    assert_eq!(v4("tcp,tp_dst=79"), EGRESS_DENIED);
    assert_eq!(v4("udp,tp_dst=1000"), EGRESS_DENIED);
    assert_eq!(v4("sctp,tp_dst=7"), EGRESS_DENIED);
    assert_eq!(v4("icmp"), EGRESS_DENIED);
    assert_eq!(v6("tcp6,tp_dst=8080"), TO_B);
    assert_eq!(v6("tcp6,tp_dst=81"), INGRESS_DENIED);
    assert_eq!(v6("udp6,tp_dst=53"), EGRESS_DENIED);
}

/// The tests of changes rest on how these tests understand conjunctions.
#[test]
fn the_switch_finds_rules_as_the_tests_do() {
    let Some(bridge) = marking() else { return };
    let pipeline = serving(everything(DUAL), NodeTraffic::PacketMark);
    let mut switch = Switch::new(&pipeline);
    for change in pipeline.policy_flows().unwrap().apply(rules(&pods(DUAL), RULES)) {
        switch.change(&change);
    }
    let services = [(Protocol::Tcp, 80), (Protocol::Tcp, 81), (Protocol::Udp, 1000), (Protocol::Udp, 2001)];
    let sent = Sent::all(&pods(DUAL), &["10.10.1.10", "192.0.2.1", "2001:db8::1"], &services);
    for sent in sent.iter().filter(|sent| sent.from.1 != sent.to.1) {
        let admitted =
            [Direction::Egress, Direction::Ingress].map(|direction| switch.admits(direction, sent));
        let outcome = match admitted {
            [false, _] => EGRESS_DENIED,
            [true, false] => INGRESS_DENIED,
            [true, true] => "passes",
        };
        let traced = bridge.outcome(&text(sent));
        let traced = if traced.ends_with("DefaultRule: drop") { traced.as_str() } else { "passes" };
        assert_eq!(traced, outcome, "{sent:?}");
    }
}

fn text(sent: &Sent) -> String {
    let mac = |port| match port {
        POD_A => A,
        POD_B => B,
        _ => GATEWAY,
    };
    let ((from, in_port), (to, out_port), (protocol, port)) = (sent.from, sent.to, sent.service);
    let (family, source, destination) = match from.is_ipv4() {
        true => ("", "nw_src", "nw_dst"),
        false => ("6", "ipv6_src", "ipv6_dst"),
    };
    let protocol = format!("{protocol:?}").to_lowercase();
    format!(
        "{protocol}{family},in_port={in_port},dl_src={},dl_dst={},{source}={from},{destination}={to},tp_dst={port}",
        mac(in_port),
        mac(out_port)
    )
}

#[test]
fn the_way_of_an_admitted_packet() {
    let Some(bridge) = marking() else { return };
    insta::assert_snapshot!(bridge.walk(&packet(&format!("{A_TO_B},tcp,nw_src=10.10.0.10,nw_dst=10.10.0.11,tp_dst=80"))), @"
    PipelineRootClassifier > Classifier > SpoofGuard > UnSNAT > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > PreRoutingClassifier > NodePortMark > SessionAffinity > SessionAffinity > ServiceLB > EndpointDNAT > EgressRule: ct(commit,zone=65520,label=0x200000000/0xffffffff00000000)
    EgressMetric > L3Forwarding > L2ForwardingCalc > IngressSecurityClassifier > IngressRule: ct(commit,zone=65520,label=0x3/0xffffffff)
    IngressMetric > ConntrackCommit: ct(commit,zone=65520,mark=0x3/0xf)
    Output: pod-b
    ");
}

#[test]
fn a_peer_behind_the_tunnel_is_policed_where_it_is_received() {
    let Some(bridge) = marking() else { return };
    let from = |source: &str, service: &str| {
        bridge.outcome(&format!("{FROM_TUNNEL},nw_src={source},nw_dst=10.10.0.11,{service}"))
    };
    assert_eq!(from("10.10.1.10", "udp,tp_dst=1999"), TO_B);
    assert_eq!(from("10.10.1.10", "udp,tp_dst=2000"), INGRESS_DENIED);
    assert_eq!(from("10.10.1.11", "udp,tp_dst=1999"), INGRESS_DENIED);
    let to = |destination: &str| {
        bridge.outcome_in(
            "trk,est",
            &format!("{A_TO_GATEWAY},tcp,ct_mark=3,nw_src=10.10.0.10,nw_dst={destination}"),
        )
    };
    assert!(to("10.10.1.12").ends_with("tunnel to 172.18.0.2"), "though this Node has no policy for it");
    let first = |service: &str| {
        bridge.walk(&packet(&format!("{A_TO_GATEWAY},nw_src=10.10.0.10,nw_dst=10.10.1.12,{service}")))
    };
    assert!(first("tcp,tp_dst=80").contains("EgressRule"), "{}", first("tcp,tp_dst=80"));
    assert_eq!(last(&first("udp,tp_dst=80")), EGRESS_DENIED);
    assert_eq!(
        bridge.outcome(&format!("{A_TO_GATEWAY},tcp,tp_dst=80,nw_src=10.10.0.10,nw_dst=192.0.2.1")),
        EGRESS_DENIED
    );
}

#[test]
fn who_was_let_in_stays_and_is_answered() {
    let Some(bridge) = marking() else { return };
    let later = format!("{A_TO_B},udp,tp_dst=53,nw_src=10.10.0.10,nw_dst=10.10.0.11");
    assert_eq!(bridge.outcome_in("trk,est", &format!("{later},ct_mark=3")), TO_B);
    assert_eq!(bridge.outcome_in("trk,rel", &format!("{later},ct_mark=3")), TO_B);
    assert_eq!(bridge.outcome_in("trk,est", &later), EGRESS_DENIED, "its first packet was denied");
    let answer = format!("{B_TO_A},udp,tp_src=53,nw_src=10.10.0.11,nw_dst=10.10.0.10");
    assert_eq!(bridge.outcome_in("trk,est,rpl", &format!("{answer},ct_mark=3")), "Output: pod-a");
    assert_eq!(bridge.outcome_in("trk,new", &answer), EGRESS_DENIED);
}

/// What the host masquerades has the address of its gateway.
#[test]
fn only_what_the_node_itself_sends_is_exempt() {
    let (Some(marking), Some(addressing)) = (marking(), addressing()) else { return };
    let v4 = "tcp,tp_dst=22,nw_src=10.10.0.1,nw_dst=10.10.0.11";
    let v6 = "tcp6,tp_dst=22,ipv6_src=fd00:10::1,ipv6_dst=fd00:10::b";
    for packet in [v4, v6] {
        let marked = format!("{GATEWAY_TO_B},pkt_mark=0x80000000,{packet}");
        let addressed = format!("{NODE_TO_B},{packet}");
        let masqueraded = format!("{GATEWAY_TO_B},pkt_mark=0x4000,{packet}");
        assert_eq!(marking.outcome(&marked), TO_B);
        assert_eq!(marking.outcome(&addressed), INGRESS_DENIED);
        assert_eq!(marking.outcome(&masqueraded), INGRESS_DENIED);
        assert_eq!(addressing.outcome(&marked), INGRESS_DENIED);
        assert_eq!(addressing.outcome(&addressed), TO_B);
        assert_eq!(addressing.outcome(&masqueraded), INGRESS_DENIED);
    }
    let walk = addressing.walk(&packet(&format!("{NODE_TO_B},{v4}")));
    assert!(walk.contains("set(eth(src=0a:00:00:00:00:01"), "Pods see the gateway's MAC: {walk}");
}

#[test]
fn nobody_else_can_seem_to_be_the_node() {
    let Some(bridge) = addressing() else { return };
    let packet = "tcp,tp_dst=22,nw_src=10.10.0.10,nw_dst=10.10.0.11";
    let from_pod = format!("in_port=2,dl_src=02:6d:80:00:00:00,dl_dst=0a:00:00:00:00:0b,{packet}");
    assert_eq!(bridge.outcome(&from_pod), "SpoofGuard: drop");
    let from_tunnel = FROM_TUNNEL.replace("0c:00:00:00:00:01", "02:6d:80:00:00:00");
    assert_eq!(
        bridge.outcome(&format!("{from_tunnel},tcp,tp_dst=22,nw_src=10.10.1.10,nw_dst=10.10.0.11")),
        INGRESS_DENIED
    );
}

#[test]
fn the_node_reaches_pods_of_other_nodes_where_its_packets_have_a_mac_of_their_own() {
    let Some(bridge) = addressing() else { return };
    let packet = "in_port=32769,dl_src=02:6d:80:00:00:00,dl_dst=aa:bb:cc:dd:ee:ff,tcp,ct_mark=2,nw_src=10.10.0.1,nw_dst=10.10.1.11";
    let outcome = bridge.outcome_in("trk,est", packet);
    assert!(outcome.ends_with("tunnel to 172.18.0.2"), "{outcome}");
}

/// A Pod's kernel has a link-local address as well; neighbours are still found by it.
#[test]
fn link_local_addresses_lead_past_no_policy() {
    let Some(bridge) = marking() else { return };
    let a_to_b = format!("{A_TO_B},tcp6,tp_dst=80,ipv6_src={A_LINK_LOCAL},ipv6_dst={B_LINK_LOCAL}");
    assert_eq!(bridge.outcome(&a_to_b), EGRESS_DENIED);
    let gateway_to_b = format!("{GATEWAY_TO_B},tcp6,tp_dst=80,ipv6_src=fe80::1,ipv6_dst={B_LINK_LOCAL}");
    assert_eq!(bridge.outcome(&gateway_to_b), INGRESS_DENIED);
    let solicitation = format!(
        "{A_TO_GATEWAY},icmp6,icmpv6_type=135,icmpv6_code=0,nw_ttl=255,ipv6_src={A_LINK_LOCAL},ipv6_dst=fd00:10::1"
    );
    let outcome = last(&bridge.walk(&solicitation));
    assert!(outcome.starts_with("IPv6: "), "{outcome}");
}

/// Where kube-proxy serves Services, what it sends back to a Pod is policed then.
#[test]
fn services_of_the_host_are_policed_when_they_come_back() {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    let bridge = shared(&SHARED, || {
        let pipeline = policed(&node(DUAL, services()), NodeTraffic::PacketMark);
        let mut flows = crate::cluster::all_flows(&pipeline, &pods(DUAL), &crate::cluster::peers(DUAL));
        let mut policies = pipeline.policy_flows().unwrap();
        policies.apply(rules(&pods(DUAL), RULES));
        flows.extend(policies.flows());
        Bridge::start(BridgeNames::of(&pipeline), &flows, &[""; 0])
    });
    let Some(bridge) = bridge else { return };
    let there = format!("{A_TO_GATEWAY},tcp,tp_dst=443,nw_src=10.10.0.10,nw_dst=10.96.0.10");
    assert_eq!(bridge.outcome(&there), "Output: antrea-gw0");
    let back = |port: u16| {
        bridge.outcome(&format!("{GATEWAY_TO_B},tcp,tp_dst={port},nw_src=10.10.0.10,nw_dst=10.10.0.11"))
    };
    assert_eq!(back(80), TO_B);
    assert_eq!(back(79), EGRESS_DENIED);
    assert_eq!(back(81), INGRESS_DENIED);
}
