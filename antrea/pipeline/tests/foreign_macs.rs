//! Frames with a destination MAC that is not their packet's, in a real Open vSwitch. A Pod writes there what it likes; where a
//! packet goes to, and whose policies judge it, its IP alone says.

use std::sync::{Arc, Mutex, Weak};

use antrea_pipeline::NodeTraffic;
use antrea_types::{IpFamily, OfPort, Protocol};

use crate::bridge::{Bridge, bridge, shared};
use crate::cluster::{A_LINK_LOCAL, B_LINK_LOCAL, POD_A, POD_B};
use crate::clusters::gateway_bridge;
use crate::gateway_passages::BETWEEN_CLUSTERS;
use crate::packets::{ACK, Packet};
use crate::policed::start_with;
use crate::served::cluster_ip;
use crate::service_passages::{A, B, GATEWAY, VIRTUAL, acknowledges, answers, ip, opens};

/// A MAC that nobody has.
const NOBODY: &str = "0a:00:00:00:00:0c";

/// What a Pod may write. Its own is one of them: the switch sends nothing back where it came from.
const MACS: [&str; 6] = [A, B, GATEWAY, VIRTUAL, BETWEEN_CLUSTERS, NOBODY];

/// That of a group.
const GROUP: &str = "01:00:5e:00:00:01";

/// Where Pod b gets nothing from anybody, and Pod a may send everywhere.
fn isolating() -> Option<Arc<Bridge>> {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    shared(&SHARED, || start_with(NodeTraffic::PacketMark, "2 in b from nobody"))
}

/// Pod a begins a connection with each MAC, and goes on with Pod b's.
#[track_caller]
fn check_isolated(from: &str, to: &str, ports: u16) {
    let Some(bridge) = isolating() else { return };
    for (mac, port) in MACS.into_iter().chain([GROUP]).zip(ports..) {
        let first = opens(POD_A, [A, mac], ip(from), (ip(to), 80), port);
        let later = Packet { macs: [A, B], tcp: (ACK, 1, 1), ..first };
        for packet in [first, later] {
            let passage = bridge.send(&packet);
            assert_ne!(passage.leaves_by(), Some(POD_B), "{mac}: {passage}");
        }
    }
}

#[test]
fn an_isolated_pod_gets_nothing_that_began_with_another_mac() {
    check_isolated("10.10.0.10", "10.10.0.11", 5001);
    check_isolated("fd00:10::a", "fd00:10::b", 5021);
}

#[test]
fn an_isolated_pod_gets_nothing_that_is_for_the_outside() {
    check_isolated("10.10.0.10", "192.0.2.1", 5031);
    check_isolated("fd00:10::a", "2001:db8::1", 5051);
}

/// Linux knows a connection only when it has been answered, and so does Open vSwitch itself for UDP.
#[test]
fn an_isolated_pod_gets_nothing_in_a_connection_that_the_outside_has_answered() {
    let Some(bridge) = isolating() else { return };
    let (pod, outside) = (ip("10.10.0.10"), ip("192.0.2.1"));
    for (protocol, port) in [(Protocol::Tcp, 5041), (Protocol::Udp, 5042)] {
        let first = Packet { protocol, ..opens(POD_A, [A, GATEWAY], pod, (outside, 80), port) };
        let answer = answers(OfPort::GATEWAY, [GATEWAY, A], (outside, 80), (pod, port));
        let later = Packet { macs: [A, B], ..acknowledges(&first) };
        let leave_by =
            [first, Packet { protocol, ..answer }, later].map(|packet| bridge.send(&packet).leaves_by());
        assert_eq!(leave_by, [OfPort::GATEWAY, POD_A, OfPort::GATEWAY].map(Some), "{protocol:?}");
    }
}

#[test]
fn an_isolated_pod_gets_nothing_by_a_service_that_the_host_answers() {
    check_isolated("10.10.0.10", &cluster_ip(IpFamily::V4, 3).to_string(), 5061);
}

/// No flow leads to a Pod's link-local address, so packets to it have no MAC but the one that they came with.
#[test]
fn an_isolated_pod_gets_nothing_by_its_link_local_address() {
    check_isolated(A_LINK_LOCAL, B_LINK_LOCAL, 5081);
    check_isolated("fd00:10::a", B_LINK_LOCAL, 5091);
}

/// Where a packet leaves to, whatever its MAC. Without policies: those would drop some of it earlier.
#[track_caller]
fn check(bridge: &Bridge, port: OfPort, state: &str, addresses: [&str; 2], leaves_by: &str) {
    let [from, to] = addresses;
    let (protocol, source, destination) = match ip(from).is_ipv4() {
        true => ("tcp", "nw_src", "nw_dst"),
        false => ("tcp6", "ipv6_src", "ipv6_dst"),
    };
    let sender = if port == POD_A { A } else { GATEWAY };
    for mac in MACS {
        let walk = bridge.walk_in(
            state,
            &format!("{protocol},nw_ttl=64,in_port={port},dl_src={sender},dl_dst={mac},{source}={from},{destination}={to},tp_dst=80"),
        );
        let outcome = walk.rsplit([',', ' ']).next().unwrap_or_default();
        assert_eq!(outcome, leaves_by, "{mac}\n{walk}");
    }
}

#[test]
fn what_a_pod_sends_goes_where_its_ip_says() {
    let Some(bridge) = bridge() else { return };
    let v4 = |state: &str, to: &str, leaves_by: &str| {
        check(&bridge, POD_A, state, ["10.10.0.10", to], leaves_by);
    };
    v4("trk,new", "10.10.0.11", "pod-b");
    v4("trk,est", "10.10.0.11", "pod-b");
    v4("trk,est", "10.10.0.99", "drop");
    v4("trk,est", "10.10.0.1", "antrea-gw0");
    v4("trk,est", "10.10.1.11", "172.18.0.2");
    v4("trk,est", "10.10.2.11", "antrea-gw0");
    v4("trk,est", "10.96.0.10", "antrea-gw0");
    v4("trk,new", "192.0.2.1", "antrea-gw0");
    let v6 = |to: &str, leaves_by: &str| {
        check(&bridge, POD_A, "trk,est", ["fd00:10::a", to], leaves_by);
    };
    v6("fd00:10::b", "pod-b");
    v6("fd00:10::99", "drop");
    v6("fd00:10:0:1::b", "fd00:18::2");
    v6("2001:db8::1", "antrea-gw0");
}

#[test]
fn what_a_pod_sends_to_another_cluster_goes_there() {
    let Some(bridge) = gateway_bridge() else { return };
    check(&bridge, POD_A, "trk,est", ["10.10.0.10", "10.20.0.5"], "172.18.2.1");
}

/// The MAC of packets between clusters makes a Pod's packet none of these.
#[test]
fn what_a_pod_sends_to_pods_that_are_reached_without_a_tunnel_goes_to_the_host() {
    let Some(bridge) = gateway_bridge() else { return };
    check(&bridge, POD_A, "trk,new", ["10.10.0.10", "10.10.2.10"], "antrea-gw0");
    check(&bridge, POD_A, "trk,est", ["10.10.0.10", "10.10.2.10"], "antrea-gw0");
}

/// The host may have the MAC of the Pod that had the address before.
#[test]
fn what_the_node_sends_to_a_pod_goes_to_the_one_that_has_the_address() {
    let Some(bridge) = bridge() else { return };
    let v4 = |to: &str, leaves_by: &str| {
        check(&bridge, OfPort::GATEWAY, "trk,new", ["10.10.0.1", to], leaves_by);
        check(&bridge, OfPort::GATEWAY, "trk,est", ["192.0.2.9", to], leaves_by);
    };
    v4("10.10.0.11", "pod-b");
    v4("10.10.0.99", "drop");
    check(&bridge, OfPort::GATEWAY, "trk,new", ["fd00:10::1", "fd00:10::b"], "pod-b");
}

#[test]
fn a_pod_is_no_hop_away_from_another_one() {
    let Some(bridge) = bridge() else { return };
    let packet = "tcp,in_port=2,dl_src=0a:00:00:00:00:0a,dl_dst=0a:00:00:00:00:0c,nw_ttl=64,nw_src=10.10.0.10,nw_dst=10.10.0.11";
    insta::assert_snapshot!(bridge.walk_in("trk,est", packet), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState > L3Forwarding > L2ForwardingCalc > ConntrackCommit > Output: set(eth(dst=0a:00:00:00:00:0b)),pod-b
    ");
}

#[test]
fn the_node_reaches_pods_by_their_link_local_addresses() {
    let Some(bridge) = bridge() else { return };
    let request = format!(
        "tcp6,in_port=32769,dl_src={GATEWAY},dl_dst={B},nw_ttl=64,ipv6_src=fe80::1,ipv6_dst={B_LINK_LOCAL}"
    );
    assert!(bridge.walk(&request).ends_with("Output: pod-b"), "{}", bridge.walk(&request));
    let answer = format!(
        "tcp6,in_port=3,dl_src={B},dl_dst={GATEWAY},ct_mark=2,nw_ttl=64,ipv6_src={B_LINK_LOCAL},ipv6_dst=fe80::1"
    );
    let walk = bridge.walk_in("trk,est,rpl", &answer);
    assert!(walk.ends_with("antrea-gw0"), "{walk}");
}

/// Neither is the host handed what a Pod sends to everybody, nor are other Pods.
#[test]
fn multicast_and_broadcast_go_nowhere() {
    let Some(bridge) = bridge() else { return };
    let to = |mac: &str, address: &str| {
        bridge.walk(&format!(
            "udp,in_port=2,dl_src={A},dl_dst={mac},nw_ttl=64,nw_src=10.10.0.10,nw_dst={address}"
        ))
    };
    for source in ["fd00:10::a", A_LINK_LOCAL] {
        for kind in ["udp6,udp_dst=5353,ipv6_dst=ff02::fb", "icmp6,icmpv6_type=134,ipv6_dst=ff02::1"] {
            let walk = bridge.walk(&format!(
                "{kind},in_port=2,dl_src={A},dl_dst=33:33:00:00:00:01,nw_ttl=255,ipv6_src={source}"
            ));
            assert!(walk.ends_with(": drop"), "{walk}");
        }
    }
    for (mac, address) in [
        ("01:00:5e:00:00:fb", "224.0.0.251"),
        ("ff:ff:ff:ff:ff:ff", "255.255.255.255"),
        ("ff:ff:ff:ff:ff:ff", "10.10.0.255"),
    ] {
        assert!(to(mac, address).ends_with(": drop"), "{}", to(mac, address));
    }
}
