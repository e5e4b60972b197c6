//! Packets to and from Services in a real Open vSwitch. The Node and its Services are in [`crate::served`]: Pod b is
//! the endpoint here, 10.10.1.10 the one on node 2. `mark` is the connection's: 0x10 a Service, 0x20 with a translated
//! source, 0x40 back where it came from; 1 from the tunnel, 2 from the gateway, 3 from a Pod.

use std::net::IpAddr;

use antrea_openflow::{Band, MeterFlags, MeterId};
use antrea_pipeline::service::ServiceProxy;
use antrea_types::{IpFamily, OfPort, Protocol};

use crate::bridge::{direct_bridge, service_bridge};
use crate::cluster::{DUAL, POD_A, POD_B};
use crate::packets::{ACK, Packet, SYN};
use crate::passage::{Passage, client_ports};
use crate::served::{cluster_ip, cluster_ips_only, node};

pub(crate) const A: &str = "0a:00:00:00:00:0a";
pub(crate) const B: &str = "0a:00:00:00:00:0b";
pub(crate) const GATEWAY: &str = "0a:00:00:00:00:01";
pub(crate) const VIRTUAL: &str = "aa:bb:cc:dd:ee:ff";

/// A first segment; each test has client ports of its own.
pub(crate) fn opens(
    in_port: OfPort,
    macs: [&'static str; 2],
    from: IpAddr,
    to: (IpAddr, u16),
    port: u16,
) -> Packet {
    let (address, service_port) = to;
    Packet {
        in_port,
        macs,
        addresses: [from, address],
        ports: [port, service_port],
        protocol: Protocol::Tcp,
        tcp: (SYN, 0, 0),
    }
}

/// The answer of an endpoint, as it comes from there.
pub(crate) fn answers(
    in_port: OfPort,
    macs: [&'static str; 2],
    from: (IpAddr, u16),
    to: (IpAddr, u16),
) -> Packet {
    Packet {
        in_port,
        macs,
        addresses: [from.0, to.0],
        ports: [from.1, to.1],
        protocol: Protocol::Tcp,
        tcp: (SYN | ACK, 0x1234_5677, 1),
    }
}

pub(crate) fn acknowledges(packet: &Packet) -> Packet {
    Packet { tcp: (ACK, 1, 0x1234_5678), ..*packet }
}

/// The passages of packets one after another.
#[track_caller]
fn check(name: &str, seen: &[Passage]) {
    insta::assert_snapshot!(name, seen.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n"));
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub(crate) const V4: IpFamily = IpFamily::V4;

#[test]
fn the_switch_prints_our_service_flows_as_we_do() {
    let Some(bridge) = service_bridge() else { return };
    let proxy = crate::served::everything(DUAL);
    let flows = crate::served::node_flows(&node(DUAL, proxy), DUAL);
    let dump = bridge.dump();
    let theirs: std::collections::BTreeSet<&str> = dump.lines().map(str::trim).collect();
    let missing: Vec<String> =
        flows.iter().map(ToString::to_string).filter(|flow| !theirs.contains(flow.as_str())).collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn a_pod_reaches_an_endpoint_of_its_node() {
    let Some(bridge) = service_bridge() else { return };
    let mut seen = Vec::new();
    let first = opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), (cluster_ip(V4, 1), 80), 1001);
    seen.push(bridge.send(&first));
    let answer = answers(POD_B, [B, A], (ip("10.10.0.11"), 8080), (ip("10.10.0.10"), 1001));
    seen.push(bridge.send(&answer));
    seen.push(bridge.send(&acknowledges(&first)));
    check("a_pod_reaches_an_endpoint_of_its_node", &seen);
}

#[test]
fn a_pod_reaches_an_endpoint_of_its_node_over_ipv6() {
    let Some(bridge) = service_bridge() else { return };
    let mut seen = Vec::new();
    let first = opens(POD_A, [A, GATEWAY], ip("fd00:10::a"), (cluster_ip(IpFamily::V6, 1), 80), 1002);
    seen.push(bridge.send(&first));
    let answer = answers(POD_B, [B, A], (ip("fd00:10::b"), 8080), (ip("fd00:10::a"), 1002));
    seen.push(bridge.send(&answer));
    check("a_pod_reaches_an_endpoint_of_its_node_over_ipv6", &seen);
}

#[test]
fn a_pod_reaches_an_endpoint_of_another_node() {
    let Some(bridge) = service_bridge() else { return };
    let mut seen = Vec::new();
    let first = opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), (cluster_ip(V4, 2), 80), 1003);
    seen.push(bridge.send(&first));
    let answer =
        answers(OfPort::TUNNEL, [GATEWAY, VIRTUAL], (ip("10.10.1.10"), 8080), (ip("10.10.0.10"), 1003));
    seen.push(bridge.send(&answer));
    check("a_pod_reaches_an_endpoint_of_another_node", &seen);
}

#[test]
fn a_pod_reaches_an_endpoint_on_its_host() {
    let Some(bridge) = service_bridge() else { return };
    let mut seen = Vec::new();
    let first = opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), (cluster_ip(V4, 3), 80), 1004);
    seen.push(bridge.send(&first));
    let answer = answers(OfPort::GATEWAY, [GATEWAY, A], (ip("172.18.0.1"), 6443), (ip("10.10.0.10"), 1004));
    seen.push(bridge.send(&answer));
    check("a_pod_reaches_an_endpoint_on_its_host", &seen);
}

#[test]
fn a_pod_reaches_itself_through_its_service() {
    let Some(bridge) = service_bridge() else { return };
    let mut seen = Vec::new();
    let first = opens(POD_B, [B, GATEWAY], ip("10.10.0.11"), (cluster_ip(V4, 1), 80), 1005);
    seen.push(bridge.send(&first));
    let port = bridge.answered_at(1005);
    let answer = answers(POD_B, [B, GATEWAY], (ip("10.10.0.11"), 8080), (ip("10.10.0.1"), port));
    seen.push(bridge.send(&answer));
    seen.push(bridge.send(&acknowledges(&first)));
    check("a_pod_reaches_itself_through_its_service", &seen);
}

#[test]
fn a_client_stays_with_its_endpoint() {
    let Some(bridge) = service_bridge() else { return };
    let chosen = |port| {
        let first = opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), (cluster_ip(V4, 4), 80), port);
        let connections = bridge.send(&first).connections;
        let answers = connections.first().unwrap().split_once("reply=(src=").unwrap().1.to_owned();
        answers.split(',').next().unwrap().to_owned()
    };
    let first = chosen(1100);
    let learned = bridge.learned();
    let learned: Vec<&str> =
        learned.lines().filter(|line| line.contains("nw_src=10.10.0.10,nw_dst=10.96.0.4,")).collect();
    let [learned] = learned.as_slice() else { panic!("{learned:?}") };
    assert!(learned.starts_with("cookie=0x30000000004, table="), "{learned}");
    assert_eq!((1101..1120).map(chosen).filter(|endpoint| *endpoint != first).count(), 0);
}

#[test]
fn what_goes_to_a_service_without_endpoints_goes_to_the_agent() {
    let Some(bridge) = service_bridge() else { return };
    let mut seen = Vec::new();
    let first = opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), (cluster_ip(V4, 5), 80), 1006);
    seen.push(bridge.send(&first));
    check("what_goes_to_a_service_without_endpoints_goes_to_the_agent", &seen);
}

/// By the meter that such packets pass.
#[test]
fn the_agent_gets_no_more_packets_than_its_configuration_says() {
    let pipeline = node(DUAL, ServiceProxy { refusal_rate: 100, ..cluster_ips_only() });
    let meters = pipeline.meters();
    let limit = meters.iter().find(|meter| meter.id == MeterId(259)).unwrap();
    assert_eq!(limit.bands, [Band { rate: 100, burst: 200 }]);
    assert_eq!(limit.flags, MeterFlags::PKTPS.and(MeterFlags::BURST));
}

#[test]
fn the_node_reaches_endpoints_here_and_elsewhere() {
    let Some(bridge) = service_bridge() else { return };
    let mut seen = Vec::new();
    let host = |number, port| {
        opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], ip("10.10.0.1"), (cluster_ip(V4, number), 80), port)
    };
    seen.push(bridge.send(&host(1, 1007)));
    seen.push(bridge.send(&answers(POD_B, [B, GATEWAY], (ip("10.10.0.11"), 8080), (ip("10.10.0.1"), 1007))));
    seen.push(bridge.send(&host(2, 1008)));
    seen.push(bridge.send(&host(3, 1009)));
    check("the_node_reaches_endpoints_here_and_elsewhere", &seen);
}

#[test]
fn the_outside_reaches_a_node_port_with_endpoints_here_and_elsewhere() {
    let Some(bridge) = service_bridge() else { return };
    let mut seen = Vec::new();
    let outside = |node_port, port| {
        opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], ip("192.0.2.9"), (ip("169.254.0.252"), node_port), port)
    };
    seen.push(bridge.send(&outside(30001, 1010)));
    seen.push(bridge.send(&answers(POD_B, [B, GATEWAY], (ip("10.10.0.11"), 8080), (ip("192.0.2.9"), 1010))));
    seen.push(bridge.send(&outside(30002, 1011)));
    seen.push(bridge.send(&answers(
        OfPort::TUNNEL,
        [GATEWAY, VIRTUAL],
        (ip("10.10.1.10"), 8080),
        (ip("10.10.0.1"), bridge.answered_at(1011)),
    )));
    check("the_outside_reaches_a_node_port_with_endpoints_here_and_elsewhere", &seen);
}

/// To an endpoint all of them come from the gateway's address. The Node's own programs have ports from 32768 on.
#[test]
fn translated_sources_have_ports_that_the_node_does_not_give_its_own_programs() {
    let Some(bridge) = service_bridge() else { return };
    let gateway = [GATEWAY, VIRTUAL];
    let outside = |port| opens(OfPort::GATEWAY, gateway, ip("192.0.2.9"), (ip("169.254.0.252"), 30002), port);
    let itself = |port| opens(POD_B, [B, GATEWAY], ip("10.10.0.11"), (cluster_ip(V4, 1), 80), port);
    for port in 40000..40016 {
        bridge.send(&outside(port));
        bridge.send(&itself(port + 100));
        let translated = [port, port + 100].map(|port| bridge.answered_at(port));
        assert!(translated.iter().all(|port| (1024..32768).contains(port)), "{translated:?}");
    }
}

/// Such a connection would end ovs-vswitchd 3.1 some time later.
#[test]
fn no_source_is_translated_to_itself() {
    let Some(bridge) = service_bridge() else { return };
    let from = [ip("10.10.0.1"), ip("172.18.0.1")];
    let to = [(cluster_ip(V4, 1), 80), (cluster_ip(V4, 2), 80), (ip("169.254.0.252"), 30002)];
    for (from, to) in from.iter().flat_map(|from| to.iter().map(move |to| (*from, *to))) {
        assert!(bridge.send(&opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], from, to, 40200)).reaches_output());
    }
    let same = |text: &String| text.contains("zone=65521") && client_ports(text) == Some((40200, 40200));
    let kept: Vec<String> = bridge.connections().into_iter().filter(same).collect();
    assert_eq!(kept, Vec::<String>::new());
}

#[test]
fn the_outside_reaches_a_node_port_over_ipv6() {
    let Some(bridge) = service_bridge() else { return };
    let mut seen = Vec::new();
    let outside = |node_port, port| {
        let node = ip("fc01::aabb:ccdd:eefe");
        opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], ip("2001:db8::9"), (node, node_port), port)
    };
    seen.push(bridge.send(&outside(30001, 1020)));
    seen.push(bridge.send(&outside(30002, 1021)));
    check("the_outside_reaches_a_node_port_over_ipv6", &seen);
}

#[test]
fn where_the_source_is_preserved_only_clients_of_this_node_reach_other_nodes() {
    let Some(bridge) = service_bridge() else { return };
    let mut seen = Vec::new();
    let outside =
        opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], ip("192.0.2.9"), (ip("169.254.0.252"), 30007), 1012);
    seen.push(bridge.send(&outside));
    let pod = opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), (ip("172.18.0.1"), 30007), 1013);
    seen.push(bridge.send(&pod));
    check("where_the_source_is_preserved_only_clients_of_this_node_reach_other_nodes", &seen);
}

#[test]
fn a_service_of_services_reaches_an_endpoint_of_theirs() {
    let Some(bridge) = service_bridge() else { return };
    let mut seen = Vec::new();
    let first = opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), (cluster_ip(V4, 6), 80), 1014);
    seen.push(bridge.send(&first));
    check("a_service_of_services_reaches_an_endpoint_of_theirs", &seen);
}

#[test]
fn the_ingress_node_sends_on_what_is_answered_directly() {
    let Some(bridge) = direct_bridge() else { return };
    let mut seen = Vec::new();
    let first = opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], ip("192.0.2.9"), (ip("192.0.2.80"), 80), 1015);
    seen.push(bridge.send(&first));
    seen.push(bridge.send(&acknowledges(&first)));
    let datagram = Packet { protocol: Protocol::Udp, ..first };
    seen.push(bridge.send(&datagram));
    seen.push(bridge.send(&datagram));
    let stray = Packet { tcp: (SYN | ACK, 0x1234_5677, 1), ports: [1016, 81], ..first };
    seen.push(bridge.send(&stray));
    check("the_ingress_node_sends_on_what_is_answered_directly", &seen);
}

#[test]
fn the_node_of_the_endpoint_answers_directly() {
    let Some(bridge) = direct_bridge() else { return };
    let mut seen = Vec::new();
    let first = opens(OfPort::TUNNEL, [GATEWAY, VIRTUAL], ip("192.0.2.9"), (ip("192.0.2.80"), 80), 1017);
    seen.push(bridge.send(&first));
    seen.push(bridge.send(&answers(POD_B, [B, GATEWAY], (ip("10.10.0.11"), 8080), (ip("192.0.2.9"), 1017))));
    check("the_node_of_the_endpoint_answers_directly", &seen);
}
