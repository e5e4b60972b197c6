//! A client that has no answer yet sends again: a segment that opens a connection, the second question from a port.
//! Connection tracking calls that packet new, too, yet has translated it: it takes the way of the first, and no second
//! connection is made of it.

use antrea_types::{IpFamily, OfPort, Protocol};

use crate::bridge::{Bridge, direct_bridge, service_bridge};
use crate::cluster::{POD_A, POD_B};
use crate::packets::Packet;
use crate::served::cluster_ip;
use crate::service_passages::{A, B, GATEWAY, V4, VIRTUAL, ip, opens};

/// The packet and the same again.
#[track_caller]
fn check(bridge: &Bridge, packet: Packet) {
    let [first, again] = [bridge.send(&packet), bridge.send(&packet)];
    assert!(first.reaches_output(), "{first}");
    assert_eq!(again.connections, first.connections, "\n{first}\n\n{again}");
    assert_eq!(again.forwarding(), first.forwarding(), "\n{first}\n\n{again}");
}

fn from_pod(service: u8, port: u16) -> Packet {
    opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), (cluster_ip(V4, service), 80), port)
}

fn from_outside(node_port: u16, port: u16) -> Packet {
    opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], ip("192.0.2.9"), (ip("169.254.0.252"), node_port), port)
}

#[test]
fn to_an_endpoint_of_the_node() {
    let Some(bridge) = service_bridge() else { return };
    check(&bridge, from_pod(1, 1201));
    check(&bridge, Packet { protocol: Protocol::Udp, ..from_pod(1, 1201) });
    let v6 = (cluster_ip(IpFamily::V6, 1), 80);
    check(&bridge, opens(POD_A, [A, GATEWAY], ip("fd00:10::a"), v6, 1201));
}

#[test]
fn to_an_endpoint_of_another_node() {
    let Some(bridge) = service_bridge() else { return };
    check(&bridge, from_pod(2, 1202));
}

#[test]
fn to_an_endpoint_on_the_host() {
    let Some(bridge) = service_bridge() else { return };
    check(&bridge, from_pod(3, 1203));
}

#[test]
fn to_the_endpoint_that_the_client_stays_with() {
    let Some(bridge) = service_bridge() else { return };
    check(&bridge, from_pod(4, 1204));
}

#[test]
fn to_a_service_of_services() {
    let Some(bridge) = service_bridge() else { return };
    check(&bridge, from_pod(6, 1205));
}

#[test]
fn to_oneself() {
    let Some(bridge) = service_bridge() else { return };
    check(&bridge, opens(POD_B, [B, GATEWAY], ip("10.10.0.11"), (cluster_ip(V4, 1), 80), 1206));
}

#[test]
fn from_the_node() {
    let Some(bridge) = service_bridge() else { return };
    for (service, port) in [(1, 1207), (2, 1208), (3, 1209)] {
        let to = (cluster_ip(V4, service), 80);
        check(&bridge, opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], ip("10.10.0.1"), to, port));
    }
}

#[test]
fn from_the_outside() {
    let Some(bridge) = service_bridge() else { return };
    for (node_port, port) in [(30001, 1210), (30002, 1211), (30007, 1212), (30004, 1213)] {
        check(&bridge, from_outside(node_port, port));
    }
}

#[test]
fn to_an_endpoint_that_answers_directly() {
    let Some(bridge) = direct_bridge() else { return };
    let to = (ip("192.0.2.80"), 80);
    check(&bridge, opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], ip("192.0.2.9"), to, 1214));
    check(&bridge, opens(OfPort::TUNNEL, [GATEWAY, VIRTUAL], ip("192.0.2.9"), to, 1215));
}
