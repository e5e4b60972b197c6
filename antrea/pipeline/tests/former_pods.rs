//! Packets to an address of this Node that no Pod has, in a real Open vSwitch: nobody's policies have judged them, so their
//! connections are not remembered, and the next Pod with the address has no part in them.

use std::net::IpAddr;

use antrea_pipeline::NodeTraffic;
use antrea_pipeline::policy::FlowChange;
use antrea_types::{OfPort, Protocol};

use crate::bridge::{Bridge, why_not};
use crate::cluster::{DUAL, POD_A};
use crate::packets::{ACK, Packet};
use crate::policed::{addressing, marking, serving, start};
use crate::served::everything;
use crate::service_passages::{A, B, GATEWAY, VIRTUAL, ip, opens};

/// The MAC of a Pod that is gone.
const GONE: &str = "0a:00:00:00:00:0c";

/// A segment in the middle of a connection, and a datagram.
fn packets(in_port: OfPort, macs: [&'static str; 2], addresses: [&str; 2], port: u16) -> [Packet; 2] {
    let [from, to]: [IpAddr; 2] = addresses.map(ip);
    let first = opens(in_port, macs, from, (to, 80), port);
    [Packet { tcp: (ACK, 1, 1), ..first }, Packet { protocol: Protocol::Udp, ports: [port, 2001], ..first }]
}

#[track_caller]
fn check(bridge: &Bridge, in_port: OfPort, macs: [&'static str; 2], addresses: [&str; 2], port: u16) {
    for packet in packets(in_port, macs, addresses, port) {
        let passage = bridge.send(&packet);
        assert!(!passage.reaches_output(), "{passage}");
        // What the sender's policy has let out is noted, with no word of where it came from: it is judged again.
        let remembered = passage.connections.iter().filter(|connection| has_source(connection));
        assert_eq!(remembered.collect::<Vec<_>>(), Vec::<&String>::new(), "{passage}");
    }
}

/// Whether all policies have let a packet of the connection pass (ConnSource).
fn has_source(connection: &str) -> bool {
    let mark = connection.split("mark=").nth(1).and_then(|text| text.split(',').next());
    mark.and_then(|mark| mark.parse::<u32>().ok()).is_some_and(|mark| mark & 0xf != 0)
}

#[test]
fn a_pod_of_the_node_is_not_remembered() {
    let Some(bridge) = marking() else { return };
    check(&bridge, POD_A, [A, GONE], ["10.10.0.10", "10.10.0.99"], 4001);
    check(&bridge, POD_A, [A, GONE], ["fd00:10::a", "fd00:10::99"], 4002);
}

#[test]
fn the_node_is_not_remembered() {
    let Some(bridge) = addressing() else { return };
    check(&bridge, OfPort::GATEWAY, [GATEWAY, GONE], ["10.10.0.1", "10.10.0.99"], 4003);
    check(&bridge, OfPort::GATEWAY, [GATEWAY, GONE], ["192.0.2.9", "10.10.0.99"], 4004);
}

#[test]
fn a_pod_of_another_node_is_not_remembered() {
    let Some(bridge) = marking() else { return };
    check(&bridge, OfPort::TUNNEL, [GATEWAY, VIRTUAL], ["10.10.1.10", "10.10.0.99"], 4005);
    check(&bridge, OfPort::TUNNEL, [GATEWAY, VIRTUAL], ["fd00:10:0:1::a", "fd00:10::99"], 4006);
}

#[test]
fn what_goes_to_a_pod_that_is_there_is_remembered() {
    let Some(bridge) = marking() else { return };
    let [segment, _] = packets(POD_A, [A, B], ["10.10.0.10", "10.10.0.11"], 4007);
    let passage = bridge.send(&segment);
    assert!(passage.reaches_output() && passage.connections.iter().any(|one| has_source(one)), "{passage}");
}

#[test]
fn what_goes_to_an_address_that_is_closed_finds_no_connection() {
    let test = "what_goes_to_an_address_that_is_closed_finds_no_connection";
    if let Some(reason) = why_not() {
        println!("SKIPPED {test}: {reason}");
        return;
    }
    let bridge = start(NodeTraffic::SourceMac);
    let macs = "in_port=2,dl_src=0a:00:00:00:00:0a,dl_dst=0a:00:00:00:00:0b";
    let packet = &format!("{macs},icmp6,ipv6_src=fd00:10::a,ipv6_dst=fd00:10::b,icmpv6_type=128");
    let walk = bridge.walk(packet);
    assert!(walk.contains("ConntrackZone: ct("), "{walk}");
    let pipeline = serving(everything(DUAL), NodeTraffic::SourceMac);
    bridge.change(&FlowChange::Add(pipeline.former_pod_flow(ip("fd00:10::b")).unwrap()));
    insta::assert_snapshot!(bridge.walk(packet), @"PipelineRootClassifier > Classifier > SpoofGuard > IPv6 > UnSNAT > ConntrackZone: drop");
}
