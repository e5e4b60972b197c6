//! Packets between clusters in a real Open vSwitch, with the addresses of [`crate::clusters`]: the way of a request and its
//! answer over the client's Node, the Gateway of its cluster, the Gateway of the other cluster, the endpoint's Node; each of
//! them is the Node of [`crate::cluster`]. `mark` is the connection's, as in [`crate::service_passages`].

use std::net::IpAddr;

use antrea_packet::refusal;
use antrea_types::{IpFamily, OfPort, Protocol};

use crate::bridge::Bridge;
use crate::cluster::{DUAL, POD_A, POD_B};
use crate::clusters::{gateway_bridge, regular_bridge};
use crate::packets::{Packet, SYN};
use crate::passage::Passage;
use crate::served::{cluster_ip, everything, node};
use crate::service_passages::{A, B, GATEWAY, V4, VIRTUAL, acknowledges, answers, ip, opens};

/// Where packets between clusters go to.
pub(crate) const BETWEEN_CLUSTERS: &str = "aa:bb:cc:dd:ee:f0";
/// The address of cluster b's Service.
pub(crate) const REMOTE_SERVICE: &str = "10.111.0.8";
/// The address of cluster b's Gateway.
pub(crate) const REMOTE_GATEWAY: &str = "172.18.2.1";

/// The passages of packets one after another. Each that opens a connection is sent a second time, and must take the same
/// way. Answers to the first one's port come to the one that it was translated to.
#[track_caller]
fn check(name: &str, bridge: &Bridge, packets: &[Packet]) {
    let client = packets[0].ports[0];
    let pass = |packet: &Packet| {
        let [from, to] = packet.ports;
        let to = if to == client { bridge.answered_at(client) } else { to };
        let packet = &Packet { ports: [from, to], ..*packet };
        let passage = bridge.send(packet);
        if packet.protocol == Protocol::Tcp && packet.tcp.0 == SYN {
            let again = bridge.send(packet);
            assert_eq!(again.connections, passage.connections, "\n{passage}\n\n{again}");
            assert_eq!(again.forwarding(), passage.forwarding(), "\n{passage}\n\n{again}");
        }
        passage
    };
    let seen: Vec<Passage> = packets.iter().map(pass).collect();
    assert!(seen.iter().all(Passage::reaches_output), "{}", text(&seen));
    insta::assert_snapshot!(name, text(&seen));
}

fn text(seen: &[Passage]) -> String {
    seen.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n")
}

/// A connection through the tunnel, from this Node's cluster or another one.
pub(crate) fn enters(mac: &'static str, from: &str, to: (IpAddr, u16), port: u16) -> Packet {
    opens(OfPort::TUNNEL, [GATEWAY, mac], ip(from), to, port)
}

fn returns(mac: &'static str, from: (&str, u16), to: (&str, u16)) -> Packet {
    answers(OfPort::TUNNEL, [GATEWAY, mac], (ip(from.0), from.1), (ip(to.0), to.1))
}

#[test]
fn the_node_of_the_client_sends_to_the_gateway_of_its_cluster() {
    let Some(bridge) = regular_bridge() else { return };
    let first = opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), (cluster_ip(V4, 20), 80), 2001);
    let answer = returns(VIRTUAL, (REMOTE_SERVICE, 80), ("10.10.0.10", 2001));
    check("client_node", &bridge, &[first, answer, acknowledges(&first)]);
}

#[test]
fn the_gateway_of_the_client_makes_itself_the_source() {
    let Some(bridge) = gateway_bridge() else { return };
    let first = enters(BETWEEN_CLUSTERS, "10.10.1.10", (ip(REMOTE_SERVICE), 80), 2002);
    let answer = returns(BETWEEN_CLUSTERS, (REMOTE_SERVICE, 80), ("172.18.0.1", 2002));
    check("client_gateway", &bridge, &[first, answer, acknowledges(&first)]);
}

#[test]
fn the_gateway_of_the_client_translates_datagrams() {
    let Some(bridge) = gateway_bridge() else { return };
    let first = enters(BETWEEN_CLUSTERS, "10.10.1.10", (ip(REMOTE_SERVICE), 53), 2016);
    let answer = returns(BETWEEN_CLUSTERS, (REMOTE_SERVICE, 53), ("172.18.0.1", 2016));
    let datagram = |packet| Packet { protocol: Protocol::Udp, ..packet };
    check("datagrams", &bridge, &[first, first, answer, first].map(datagram));
}

#[test]
fn the_gateway_of_the_service_finds_its_endpoint_on_another_node() {
    let Some(bridge) = gateway_bridge() else { return };
    let first = enters(BETWEEN_CLUSTERS, REMOTE_GATEWAY, (cluster_ip(V4, 2), 80), 2003);
    let answer = returns(BETWEEN_CLUSTERS, ("10.10.1.10", 8080), (REMOTE_GATEWAY, 2003));
    check("server_gateway", &bridge, &[first, answer, acknowledges(&first)]);
}

#[test]
fn a_service_of_local_policy_answers_other_clusters_from_any_node() {
    let Some(bridge) = gateway_bridge() else { return };
    let service = (cluster_ip(V4, 23), 80);
    let first = enters(BETWEEN_CLUSTERS, REMOTE_GATEWAY, service, 2017);
    let answer = returns(BETWEEN_CLUSTERS, ("10.10.1.10", 8080), (REMOTE_GATEWAY, 2017));
    check("local_policy", &bridge, &[first, answer, acknowledges(&first)]);
    let own = bridge.send(&opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), service, 2018));
    assert!(!own.reaches_output() && own.to_string().contains("controller(userdata=04)"), "{own}");
}

#[test]
fn the_node_of_the_endpoint_answers_through_the_gateway_of_its_cluster() {
    let Some(bridge) = regular_bridge() else { return };
    let first = enters(VIRTUAL, REMOTE_GATEWAY, (ip("10.10.0.11"), 8080), 2004);
    let answer = answers(POD_B, [B, GATEWAY], (ip("10.10.0.11"), 8080), (ip(REMOTE_GATEWAY), 2004));
    check("server_node", &bridge, &[first, answer, acknowledges(&first)]);
}

#[test]
fn the_gateway_has_clients_and_endpoints_itself() {
    let Some(bridge) = gateway_bridge() else { return };
    let request = opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), (cluster_ip(V4, 20), 80), 2005);
    let answer = returns(BETWEEN_CLUSTERS, (REMOTE_SERVICE, 80), ("172.18.0.1", 2005));
    check("client_on_the_gateway", &bridge, &[request, answer, acknowledges(&request)]);
    let request = enters(BETWEEN_CLUSTERS, REMOTE_GATEWAY, (cluster_ip(V4, 1), 80), 2006);
    let answer = answers(POD_B, [B, GATEWAY], (ip("10.10.0.11"), 8080), (ip(REMOTE_GATEWAY), 2006));
    check("endpoint_on_the_gateway", &bridge, &[request, answer, acknowledges(&request)]);
}

#[test]
fn pods_reach_pods_of_another_cluster() {
    let first = |in_port, mac| opens(in_port, [A, mac], ip("10.10.0.10"), (ip("10.20.0.5"), 8080), 2007);
    let Some(bridge) = regular_bridge() else { return };
    let answer = returns(VIRTUAL, ("10.20.0.5", 8080), ("10.10.0.10", 2007));
    check("pod_on_a_regular_node_to_pod", &bridge, &[first(POD_A, GATEWAY), answer]);
    let Some(bridge) = gateway_bridge() else { return };
    let answer = returns(BETWEEN_CLUSTERS, ("10.20.0.5", 8080), ("172.18.0.1", 2007));
    check("pod_on_the_gateway_to_pod", &bridge, &[first(POD_A, GATEWAY), answer]);
    let first = enters(BETWEEN_CLUSTERS, REMOTE_GATEWAY, (ip("10.10.1.10"), 8080), 2008);
    let answer = returns(BETWEEN_CLUSTERS, ("10.10.1.10", 8080), (REMOTE_GATEWAY, 2008));
    check("pod_of_another_cluster_to_pod", &bridge, &[first, answer]);
}

#[test]
fn nodes_reach_services_of_another_cluster() {
    let node = [GATEWAY, VIRTUAL];
    let first = |port| opens(OfPort::GATEWAY, node, ip("10.10.0.1"), (cluster_ip(V4, 20), 80), port);
    let Some(bridge) = regular_bridge() else { return };
    let answer = returns(VIRTUAL, (REMOTE_SERVICE, 80), ("10.10.0.1", 2009));
    check("regular_node_itself", &bridge, &[first(2009), answer, acknowledges(&first(2009))]);
    let Some(bridge) = gateway_bridge() else { return };
    let answer = returns(BETWEEN_CLUSTERS, (REMOTE_SERVICE, 80), ("172.18.0.1", 2010));
    check("gateway_itself", &bridge, &[first(2010), answer, acknowledges(&first(2010))]);
}

#[test]
fn an_endpoint_on_the_host_of_the_gateway_answers_through_it() {
    let Some(bridge) = gateway_bridge() else { return };
    let first = enters(BETWEEN_CLUSTERS, REMOTE_GATEWAY, (cluster_ip(V4, 3), 80), 2011);
    let host = [GATEWAY, VIRTUAL];
    let answer = answers(OfPort::GATEWAY, host, (ip("172.18.0.1"), 6443), (ip("169.254.0.253"), 2011));
    check("endpoint_on_the_host", &bridge, &[first, answer, acknowledges(&first)]);
}

#[test]
fn packets_of_other_clusters_go_through_the_tunnel_to_pods_that_are_reached_without() {
    let Some(bridge) = gateway_bridge() else { return };
    let first = enters(BETWEEN_CLUSTERS, REMOTE_GATEWAY, (ip("10.10.2.10"), 8080), 2012);
    let answer = returns(BETWEEN_CLUSTERS, ("10.10.2.10", 8080), (REMOTE_GATEWAY, 2012));
    check("pod_reached_without_a_tunnel", &bridge, &[first, answer]);
    let first = enters(BETWEEN_CLUSTERS, "10.10.2.10", (ip(REMOTE_SERVICE), 80), 2013);
    let answer = returns(BETWEEN_CLUSTERS, (REMOTE_SERVICE, 80), ("172.18.0.1", 2013));
    check("client_reached_without_a_tunnel", &bridge, &[first, answer]);
}

#[test]
fn the_gateway_that_is_being_replaced_gets_its_answers() {
    let Some(bridge) = regular_bridge() else { return };
    let former = "172.18.3.2";
    let first = enters(VIRTUAL, former, (ip("10.10.0.11"), 8080), 2014);
    let answer = answers(POD_B, [B, GATEWAY], (ip("10.10.0.11"), 8080), (ip(former), 2014));
    check("former_gateway_on_a_regular_node", &bridge, &[first, answer]);
    let Some(bridge) = gateway_bridge() else { return };
    let first = enters(BETWEEN_CLUSTERS, former, (cluster_ip(V4, 2), 80), 2014);
    let answer = returns(BETWEEN_CLUSTERS, ("10.10.1.10", 8080), (former, 2014));
    check("former_gateway_on_the_gateway", &bridge, &[first, answer]);
}

#[test]
fn a_service_of_the_cluster_set_has_this_clusters_endpoints_too() {
    let Some(bridge) = regular_bridge() else { return };
    let first = opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), (cluster_ip(V4, 21), 80), 2015);
    let answer = answers(POD_B, [B, A], (ip("10.10.0.11"), 8080), (ip("10.10.0.10"), 2015));
    check("nested_service", &bridge, &[first, answer]);
}

#[test]
fn what_no_cluster_has_leaves_the_gateway_nowhere() {
    let Some(bridge) = gateway_bridge() else { return };
    let walk = bridge.walk(&format!(
        "in_port=antrea-tun0,tun_src={REMOTE_GATEWAY},tun_dst=172.18.0.1,dl_dst={BETWEEN_CLUSTERS},tcp,\
         nw_src={REMOTE_GATEWAY},nw_dst=10.96.9.9,nw_ttl=64,tp_dst=80"
    ));
    assert!(walk.ends_with("Output: drop"), "{walk}");
}

#[test]
fn clients_in_other_clusters_are_refused_through_the_tunnel() {
    let pipeline = node(DUAL, everything(DUAL));
    let refused = |mac, from, to| {
        let packet = enters(mac, from, to, 2040);
        let out = pipeline.reject_packet_out(OfPort::TUNNEL, refusal(&packet.bytes()).unwrap());
        out.actions.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    };
    insta::assert_snapshot!(
        refused(BETWEEN_CLUSTERS, REMOTE_GATEWAY, (cluster_ip(V4, 5), 80)),
        @"set_field:0a:00:00:00:00:01->eth_src,set_field:aa:bb:cc:dd:ee:f0->eth_dst,set_field:172.18.2.1->tun_dst,output:32768"
    );
    insta::assert_snapshot!(refused(VIRTUAL, "192.0.2.9", (ip("192.0.2.80"), 80)), @"set_field:0a:00:00:00:00:01->eth_dst,output:32769");
    // Between clusters there is IPv4 alone.
    insta::assert_snapshot!(refused(BETWEEN_CLUSTERS, "2001:db8::9", (cluster_ip(IpFamily::V6, 5), 80)), @"set_field:0a:00:00:00:00:01->eth_dst,output:32769");
}

/// A packet of another cluster, with the outer source of its tunnel.
fn through_the_tunnel(bridge: &Bridge, tunnel: &str, source: &str, to: &str) -> String {
    let walk = bridge.walk(&format!(
        "in_port=antrea-tun0,tun_src={tunnel},tun_dst=172.18.0.1,dl_src=0a:00:00:00:00:02,dl_dst={BETWEEN_CLUSTERS},\
         tcp,nw_src={source},nw_dst={to},nw_ttl=64,tp_dst=80"
    ));
    walk.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn what_other_clusters_send_to_a_node_that_is_no_gateway_any_more_goes_to_the_one_that_is() {
    let Some(bridge) = regular_bridge() else { return };
    let service = cluster_ip(V4, 2).to_string();
    let from_peer = through_the_tunnel(&bridge, REMOTE_GATEWAY, REMOTE_GATEWAY, &service);
    insta::assert_snapshot!(from_peer, @"PipelineRootClassifier > Classifier > UnSNAT: set(ipv4(ttl=63)),tunnel to 172.18.0.2");
    let from_own_gateway = through_the_tunnel(&bridge, "172.18.0.2", REMOTE_GATEWAY, "10.10.0.11");
    assert!(from_own_gateway.ends_with("Output: pod-b"), "{from_own_gateway}");
    let from_a_peer_node = through_the_tunnel(&bridge, "172.18.0.3", "10.10.2.10", REMOTE_SERVICE);
    assert_eq!(from_a_peer_node, from_peer);
}
