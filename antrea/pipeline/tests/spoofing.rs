//! Packets with addresses that are not their sender's, and neighbour discovery, in a real Open vSwitch.

use crate::bridge::bridge;

#[test]
fn a_pod_with_a_foreign_address_or_mac_is_dropped() {
    let Some(bridge) = bridge() else { return };
    let own = "in_port=2,dl_src=0a:00:00:00:00:0a,dl_dst=0a:00:00:00:00:01";
    insta::assert_snapshot!(bridge.walk(&format!("{own},tcp,nw_src=10.10.0.11,nw_dst=192.0.2.1")), @"PipelineRootClassifier > Classifier > SpoofGuard: drop");
    insta::assert_snapshot!(bridge.walk(&format!("{own},tcp6,ipv6_src=fd00:10::b,ipv6_dst=2001:db8::1")), @"PipelineRootClassifier > Classifier > SpoofGuard: drop");
    let foreign = "in_port=2,dl_src=0a:00:00:00:00:0b,dl_dst=0a:00:00:00:00:01";
    insta::assert_snapshot!(bridge.walk(&format!("{foreign},tcp,nw_src=10.10.0.10,nw_dst=192.0.2.1")), @"PipelineRootClassifier > Classifier > SpoofGuard: drop");
}

#[test]
fn a_port_that_nobody_vouches_for_is_dropped() {
    let Some(bridge) = bridge() else { return };
    insta::assert_snapshot!(bridge.walk("in_port=9,tcp,nw_src=10.10.0.10,nw_dst=10.10.0.11"), @"PipelineRootClassifier > Classifier: drop");
}

#[test]
fn what_is_neither_arp_nor_ip_is_dropped() {
    let Some(bridge) = bridge() else { return };
    insta::assert_snapshot!(bridge.walk("in_port=2,dl_src=0a:00:00:00:00:0a,dl_type=0x88cc"), @"PipelineRootClassifier: drop");
}

#[test]
fn packets_of_impossible_connections_are_dropped() {
    let Some(bridge) = bridge() else { return };
    let packet =
        "in_port=2,dl_src=0a:00:00:00:00:0a,dl_dst=0a:00:00:00:00:0b,tcp,nw_src=10.10.0.10,nw_dst=10.10.0.11";
    insta::assert_snapshot!(bridge.walk_in("trk,inv", packet), @"
    PipelineRootClassifier > Classifier > SpoofGuard > ConntrackZone: ct(zone=65520,nat)
    ConntrackState: drop
    ");
}

#[test]
fn spoofed_arp_is_dropped() {
    let Some(bridge) = bridge() else { return };
    let request =
        "in_port=2,arp,arp_op=1,arp_tpa=10.10.0.1,dl_src=0a:00:00:00:00:0a,dl_dst=ff:ff:ff:ff:ff:ff";
    insta::assert_snapshot!(bridge.walk(&format!("{request},arp_spa=10.10.0.11,arp_sha=0a:00:00:00:00:0a")), @"PipelineRootClassifier > ARPSpoofGuard: drop");
    insta::assert_snapshot!(bridge.walk(&format!("{request},arp_spa=10.10.0.10,arp_sha=0a:00:00:00:00:0b")), @"PipelineRootClassifier > ARPSpoofGuard: drop");
    let foreign = request.replace("dl_src=0a:00:00:00:00:0a", "dl_src=0a:00:00:00:00:0b");
    insta::assert_snapshot!(bridge.walk(&format!("{foreign},arp_spa=10.10.0.10,arp_sha=0a:00:00:00:00:0a")), @"PipelineRootClassifier > ARPSpoofGuard: drop");
}

#[test]
fn arp_of_a_pod_for_its_neighbours_is_switched() {
    let Some(bridge) = bridge() else { return };
    let request =
        "in_port=2,arp,arp_op=1,arp_tpa=10.10.0.1,dl_src=0a:00:00:00:00:0a,dl_dst=ff:ff:ff:ff:ff:ff";
    insta::assert_snapshot!(bridge.walk(&format!("{request},arp_spa=10.10.0.10,arp_sha=0a:00:00:00:00:0a")), @"PipelineRootClassifier > ARPSpoofGuard > ARPResponder: antrea-gw0,br-int,pod-b,stranger");
}

#[test]
fn arp_for_a_peers_gateway_is_answered_with_the_global_virtual_mac() {
    let Some(bridge) = bridge() else { return };
    let request = "in_port=32769,arp,arp_op=1,dl_src=0a:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff,arp_spa=10.10.0.1,arp_sha=0a:00:00:00:00:01";
    insta::assert_snapshot!(bridge.walk(&format!("{request},arp_tpa=10.10.1.1")), @"PipelineRootClassifier > ARPSpoofGuard > ARPResponder: set(eth(src=aa:bb:cc:dd:ee:ff,dst=0a:00:00:00:00:01)),set(arp(sip=10.10.1.1,tip=10.10.0.1,op=2,sha=aa:bb:cc:dd:ee:ff,tha=0a:00:00:00:00:01)),antrea-gw0");
}

#[test]
fn neighbour_solicitations_are_switched() {
    let Some(bridge) = bridge() else { return };
    let pod = "in_port=2,dl_src=0a:00:00:00:00:0a,icmp6,nw_ttl=255";
    let solicited = "dl_dst=33:33:ff:00:00:01,ipv6_dst=ff02::1:ff00:1,icmpv6_type=135,icmpv6_code=0";
    insta::assert_snapshot!(bridge.walk(&format!("{pod},ipv6_src=fd00:10::a,{solicited}")), @"PipelineRootClassifier > Classifier > SpoofGuard > IPv6: antrea-gw0,br-int,pod-b,stranger");
    insta::assert_snapshot!(bridge.walk(&format!("{pod},ipv6_src=fd00:10::b,{solicited}")), @"PipelineRootClassifier > Classifier > SpoofGuard: drop");
}
