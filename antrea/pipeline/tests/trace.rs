//! Packets on their way through the flows of a Node, in a real Open vSwitch (`ofproto/trace`).
//!
//! The Node is 10.10.0.0/24 and fd00:10::/64 with Pods a and b; node 2 (10.10.1.0/24, fd00:10:0:1::/64) is behind the
//! tunnel. `trk,new` opens a connection; its ct_mark afterwards says where it came from: 1 tunnel, 2 gateway, 3 Pod.

use std::collections::BTreeSet;

use crate::bridge::bridge;
use crate::cluster::{DUAL, all_flows, node, peers, pods, services};

const TCP: &str = "tcp,nw_ttl=64";
const TCP6: &str = "tcp6,nw_ttl=64";

/// From Pod a to the MAC of its gateway.
const FROM_A: &str = "in_port=2,dl_src=0a:00:00:00:00:0a,dl_dst=0a:00:00:00:00:01";
/// From Pod a to the MAC of Pod b.
const A_TO_B: &str = "in_port=2,dl_src=0a:00:00:00:00:0a,dl_dst=0a:00:00:00:00:0b";
/// From Pod b to the MAC of its gateway.
const FROM_B: &str = "in_port=3,dl_src=0a:00:00:00:00:0b,dl_dst=0a:00:00:00:00:01";
/// From the gateway to the MAC of Pod b.
const GATEWAY_TO_B: &str = "in_port=32769,dl_src=0a:00:00:00:00:01,dl_dst=0a:00:00:00:00:0b";
/// From the gateway to the MAC of a peer's gateway.
const GATEWAY_TO_PEER: &str = "in_port=32769,dl_src=0a:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff";
/// From node 2 by the tunnel.
const FROM_TUNNEL: &str =
    "in_port=32768,tun_src=172.18.0.2,tun_dst=172.18.0.1,dl_src=0c:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff";
const FROM_TUNNEL_OVER_IPV6: &str = "in_port=32768,tun_ipv6_src=fd00:18::2,tun_ipv6_dst=fd00:18::1,dl_src=0c:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff";

#[test]
fn the_switch_prints_our_flows_as_we_do() {
    let Some(bridge) = bridge() else { return };
    let flows = all_flows(&node(DUAL, services()), &pods(DUAL), &peers(DUAL));
    let ours: BTreeSet<String> = flows.iter().map(ToString::to_string).collect();
    let dump = bridge.dump();
    let theirs: BTreeSet<String> = dump.lines().map(|line| line.trim().to_owned()).collect();
    assert_eq!(theirs, ours);
}

#[test]
fn a_pod_reaches_a_pod_of_its_node() {
    let Some(bridge) = bridge() else { return };
    insta::assert_snapshot!(bridge.walk(&format!("{A_TO_B},{TCP},nw_src=10.10.0.10,nw_dst=10.10.0.11")), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > DNAT > L3Forwarding > L2ForwardingCalc > ConntrackCommit: ct(commit,zone=65520,mark=0x3/0xf)
    Output: pod-b
    ");
    insta::assert_snapshot!(bridge.walk(&format!("{A_TO_B},{TCP6},ipv6_src=fd00:10::a,ipv6_dst=fd00:10::b")), @"
    PipelineRootClassifier > Classifier > SpoofGuard > IPv6 > ConntrackZone: ct(zone=65510,nat)
    ConntrackState > DNAT > L3Forwarding > L2ForwardingCalc > ConntrackCommit: ct(commit,zone=65510,mark=0x3/0xf)
    Output: pod-b
    ");
}

#[test]
fn later_fragments_go_the_same_way() {
    let Some(bridge) = bridge() else { return };
    insta::assert_snapshot!(bridge.walk(&format!("{A_TO_B},udp,nw_ttl=64,nw_src=10.10.0.10,nw_dst=10.10.0.11,ip_frag=later")), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > DNAT > L3Forwarding > L2ForwardingCalc > ConntrackCommit: ct(commit,zone=65520,mark=0x3/0xf)
    Output: pod-b
    ");
}

#[test]
fn a_connection_to_a_remote_pod_is_committed_and_leaves_by_the_tunnel() {
    let Some(bridge) = bridge() else { return };
    let v4 = format!("{FROM_A},{TCP},nw_src=10.10.0.10,nw_dst=10.10.1.11");
    let v6 = format!("{FROM_A},{TCP6},ipv6_src=fd00:10::a,ipv6_dst=fd00:10:0:1::b");
    insta::assert_snapshot!(bridge.walk_in("trk,est", &v4), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit > Output: set(eth(src=0a:00:00:00:00:01,dst=aa:bb:cc:dd:ee:ff)),set(ipv4(ttl=63)),tunnel to 172.18.0.2
    ");
    insta::assert_snapshot!(bridge.walk_in("trk,est", &v6), @"
    PipelineRootClassifier > Classifier > SpoofGuard > IPv6 > ConntrackZone: ct(zone=65510,nat)
    ConntrackState > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit > Output: set(eth(src=0a:00:00:00:00:01,dst=aa:bb:cc:dd:ee:ff)),set(ipv6(hlimit=63)),tunnel to fd00:18::2
    ");
    // A trace takes the destination that it set before the commit for the one the packet came to, and stops there.
    let first = bridge.walk(&v4);
    assert!(first.contains("> L3DecTTL > L2ForwardingCalc > ConntrackCommit:"), "{first}");
    assert!(first.contains("ct(commit,zone=65520,mark=0x3/0xf)\nOutput:"), "{first}");
}

#[test]
fn a_peer_without_a_tunnel_is_reached_by_the_hosts_routes() {
    let Some(bridge) = bridge() else { return };
    insta::assert_snapshot!(bridge.walk(&format!("{FROM_A},{TCP},nw_src=10.10.0.10,nw_dst=10.10.2.11")), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > DNAT > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit: set(ipv4(ttl=63)),ct(commit,zone=65520,mark=0x3/0xf)
    Output: antrea-gw0
    ");
}

#[test]
fn what_comes_by_the_tunnel_reaches_a_pod_with_its_mac() {
    let Some(bridge) = bridge() else { return };
    insta::assert_snapshot!(bridge.walk(&format!("{FROM_TUNNEL},{TCP},nw_src=10.10.1.10,nw_dst=10.10.0.11")), @"
    PipelineRootClassifier > Classifier > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > DNAT > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit: set(eth(src=0a:00:00:00:00:01,dst=0a:00:00:00:00:0b)),set(ipv4(ttl=63)),ct(commit,zone=65520,mark=0x1/0xf)
    Output: pod-b
    ");
    insta::assert_snapshot!(bridge.walk(&format!("{FROM_TUNNEL_OVER_IPV6},{TCP6},ipv6_src=fd00:10:0:1::a,ipv6_dst=fd00:10::b")), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65510,nat)
    ConntrackState > DNAT > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit: set(eth(src=0a:00:00:00:00:01,dst=0a:00:00:00:00:0b)),set(ipv6(hlimit=63)),ct(commit,zone=65510,mark=0x1/0xf)
    Output: pod-b
    ");
}

#[test]
fn a_remote_node_reaches_a_pod_and_this_node() {
    let Some(bridge) = bridge() else { return };
    insta::assert_snapshot!(bridge.walk(&format!("{FROM_TUNNEL},{TCP},nw_src=10.10.1.1,nw_dst=10.10.0.11")), @"
    PipelineRootClassifier > Classifier > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > DNAT > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit: set(eth(src=0a:00:00:00:00:01,dst=0a:00:00:00:00:0b)),set(ipv4(ttl=63)),ct(commit,zone=65520,mark=0x1/0xf)
    Output: pod-b
    ");
    insta::assert_snapshot!(bridge.walk(&format!("{FROM_TUNNEL},{TCP},nw_src=10.10.1.1,nw_dst=10.10.0.1")), @"
    PipelineRootClassifier > Classifier > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > DNAT > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit: set(eth(dst=0a:00:00:00:00:01)),set(ipv4(ttl=63)),ct(commit,zone=65520,mark=0x1/0xf)
    Output: antrea-gw0
    ");
}

#[test]
fn what_comes_by_the_tunnel_for_nobody_is_dropped() {
    let Some(bridge) = bridge() else { return };
    insta::assert_snapshot!(bridge.walk_in("trk,est", &format!("{FROM_TUNNEL},{TCP},nw_src=10.10.1.10,nw_dst=10.10.0.99")), @"
    PipelineRootClassifier > Classifier > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > L3Forwarding: drop
    ");
}

#[test]
fn a_pod_reaches_its_node_and_the_outside_by_the_gateway() {
    let Some(bridge) = bridge() else { return };
    let walk =
        |destination: &str| bridge.walk(&format!("{FROM_A},{TCP},nw_src=10.10.0.10,nw_dst={destination}"));
    insta::assert_snapshot!(walk("10.10.0.1"), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > DNAT > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit: set(ipv4(ttl=63)),ct(commit,zone=65520,mark=0x3/0xf)
    Output: antrea-gw0
    ");
    insta::assert_snapshot!(walk("172.18.0.1"), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > DNAT > L3Forwarding > L2ForwardingCalc > ConntrackCommit: ct(commit,zone=65520,mark=0x3/0xf)
    Output: antrea-gw0
    ");
    insta::assert_snapshot!(walk("192.0.2.1"), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > DNAT > L3Forwarding > L2ForwardingCalc > ConntrackCommit: ct(commit,zone=65520,mark=0x3/0xf)
    Output: antrea-gw0
    ");
    let v6 = |destination: &str| {
        bridge.walk(&format!("{FROM_A},{TCP6},ipv6_src=fd00:10::a,ipv6_dst={destination}"))
    };
    insta::assert_snapshot!(v6("fd00:10::1"), @"
    PipelineRootClassifier > Classifier > SpoofGuard > IPv6 > ConntrackZone: ct(zone=65510,nat)
    ConntrackState > DNAT > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit: set(ipv6(hlimit=63)),ct(commit,zone=65510,mark=0x3/0xf)
    Output: antrea-gw0
    ");
    insta::assert_snapshot!(v6("2001:db8::1"), @"
    PipelineRootClassifier > Classifier > SpoofGuard > IPv6 > ConntrackZone: ct(zone=65510,nat)
    ConntrackState > DNAT > L3Forwarding > L2ForwardingCalc > ConntrackCommit: ct(commit,zone=65510,mark=0x3/0xf)
    Output: antrea-gw0
    ");
}

#[test]
fn the_node_reaches_a_pod_and_gets_the_answer() {
    let Some(bridge) = bridge() else { return };
    insta::assert_snapshot!(bridge.walk(&format!("{GATEWAY_TO_B},{TCP},nw_src=10.10.0.1,nw_dst=10.10.0.11")), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > DNAT > L3Forwarding > L2ForwardingCalc > ConntrackCommit: ct(commit,zone=65520,mark=0x2/0xf)
    Output: pod-b
    ");
    insta::assert_snapshot!(bridge.walk(&format!("{GATEWAY_TO_B},{TCP6},ipv6_src=fd00:10::1,ipv6_dst=fd00:10::b")), @"
    PipelineRootClassifier > Classifier > SpoofGuard > IPv6 > ConntrackZone: ct(zone=65510,nat)
    ConntrackState > DNAT > L3Forwarding > L2ForwardingCalc > ConntrackCommit: ct(commit,zone=65510,mark=0x2/0xf)
    Output: pod-b
    ");
    let answer = format!("{FROM_A},ct_mark=2,{TCP},nw_src=10.10.0.10,nw_dst=10.10.0.1");
    insta::assert_snapshot!(bridge.walk_in("trk,est,rpl", &answer), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit > Output: set(ipv4(ttl=63)),antrea-gw0
    ");
}

#[test]
fn the_node_reaches_a_remote_pod_without_another_hop() {
    let Some(bridge) = bridge() else { return };
    let packet = format!("{GATEWAY_TO_PEER},{TCP},nw_src=10.10.0.1,nw_dst=10.10.1.11");
    insta::assert_snapshot!(bridge.walk_in("trk,est", &packet), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit > Output: tunnel to 172.18.0.2
    ");
}

#[test]
fn the_outside_reaches_a_pod_by_the_hosts_routes() {
    let Some(bridge) = bridge() else { return };
    insta::assert_snapshot!(bridge.walk(&format!("{GATEWAY_TO_B},{TCP},nw_src=192.0.2.1,nw_dst=10.10.0.11")), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > DNAT > L3Forwarding > L2ForwardingCalc > ConntrackCommit: ct(commit,zone=65520,mark=0x2/0xf)
    Output: pod-b
    ");
    let answer = format!("{FROM_B},ct_mark=2,{TCP},nw_src=10.10.0.11,nw_dst=192.0.2.1");
    insta::assert_snapshot!(bridge.walk_in("trk,est,rpl", &answer), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit > Output: set(ipv4(ttl=63)),antrea-gw0
    ");
}

#[test]
fn service_traffic_goes_to_the_gateway() {
    let Some(bridge) = bridge() else { return };
    let v4 = format!("{FROM_A},{TCP},nw_src=10.10.0.10,nw_dst=10.96.0.10");
    insta::assert_snapshot!(bridge.walk(&v4), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > DNAT > ConntrackCommit: ct(commit,zone=65520,mark=0x3/0xf)
    Output: antrea-gw0
    ");
    insta::assert_snapshot!(bridge.walk_in("trk,est", &v4), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > L3Forwarding > L2ForwardingCalc > ConntrackCommit > Output: antrea-gw0
    ");
    insta::assert_snapshot!(bridge.walk(&format!("{FROM_A},{TCP6},ipv6_src=fd00:10::a,ipv6_dst=fd00:96::a")), @"
    PipelineRootClassifier > Classifier > SpoofGuard > IPv6 > ConntrackZone: ct(zone=65510,nat)
    ConntrackState > DNAT > ConntrackCommit: ct(commit,zone=65510,mark=0x3/0xf)
    Output: antrea-gw0
    ");
}

/// kube-proxy has translated a Service's address to Pod b; the client is Pod a of the same Node. The answer must not
/// take the short way, or nobody translates it back.
#[test]
fn answers_to_what_the_host_translated_go_back_to_the_host() {
    let Some(bridge) = bridge() else { return };
    insta::assert_snapshot!(bridge.walk(&format!("{GATEWAY_TO_B},{TCP},nw_src=10.10.0.10,nw_dst=10.10.0.11")), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > DNAT > L3Forwarding > L2ForwardingCalc > ConntrackCommit: ct(commit,zone=65520,mark=0x2/0xf)
    Output: pod-b
    ");
    let answer = "in_port=3,dl_src=0a:00:00:00:00:0b,dl_dst=0a:00:00:00:00:0a,ct_mark=2";
    let v4 = format!("{answer},{TCP},nw_src=10.10.0.11,nw_dst=10.10.0.10");
    insta::assert_snapshot!(bridge.walk_in("trk,est,rpl", &v4), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit > Output: set(eth(dst=0a:00:00:00:00:01)),set(ipv4(ttl=63)),antrea-gw0
    ");
    let v6 = format!("{answer},{TCP6},ipv6_src=fd00:10::b,ipv6_dst=fd00:10::a");
    insta::assert_snapshot!(bridge.walk_in("trk,est,rpl", &v6), @"
    PipelineRootClassifier > Classifier > SpoofGuard > IPv6 > ConntrackZone: ct(zone=65510,nat)
    ConntrackState > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit > Output: set(eth(dst=0a:00:00:00:00:01)),set(ipv6(hlimit=63)),antrea-gw0
    ");
    let remote = format!("{FROM_TUNNEL},ct_mark=2,{TCP},nw_src=10.10.1.11,nw_dst=10.10.0.10");
    insta::assert_snapshot!(bridge.walk_in("trk,est,rpl", &remote), @"
    PipelineRootClassifier > Classifier > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > L3Forwarding > L3DecTTL > L2ForwardingCalc > ConntrackCommit > Output: set(eth(dst=0a:00:00:00:00:01)),set(ipv4(ttl=63)),antrea-gw0
    ");
}

#[test]
fn an_answer_that_the_host_translated_back_reaches_the_client() {
    let Some(bridge) = bridge() else { return };
    let answer = format!("{GATEWAY_TO_B},ct_mark=3,{TCP},nw_src=10.96.0.10,nw_dst=10.10.0.11");
    insta::assert_snapshot!(bridge.walk_in("trk,est,rpl", &answer), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > L3Forwarding > L2ForwardingCalc > ConntrackCommit > Output: pod-b
    ");
}
