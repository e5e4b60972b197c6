//! Packets that a Node would take for those of a peer, because they come to its end of the tunnel, in a real Open vSwitch. Those
//! of the host itself do not pass the bridge.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, Weak};

use antrea_pipeline::service::{Backend, Endpoint, EndpointKind, EndpointPlace};
use antrea_pipeline::{Pipeline, PipelineConfig, Tunnel};
use antrea_types::{IpFamily, OfPort, Protocol, TunnelTraffic};

use crate::bridge::{Bridge, bridge, from_node_2, shared};
use crate::cluster::{BridgeNames, DUAL, POD_A, all_flows, node, peers, pods, services};
use crate::clusters::add;
use crate::packets::Packet;
use crate::served::{Served, cluster_ip, everything, node as serving, node_flows};
use crate::service_passages::{A, GATEWAY, V4, VIRTUAL, ip, opens};

const GENEVE: &str = "udp,udp_dst=6081";

/// Who sends: the port, the MAC addresses, and an address of each family.
type Sender = (OfPort, [&'static str; 2], [&'static str; 2]);

const POD: Sender = (POD_A, [A, GATEWAY], ["10.10.0.10", "fd00:10::a"]);
const POD_OF_A_PEER: Sender = (OfPort::TUNNEL, [GATEWAY, VIRTUAL], ["10.10.1.10", "fd00:10:0:1::a"]);
const HOST: Sender = (OfPort::GATEWAY, [GATEWAY, VIRTUAL], ["10.10.0.1", "fd00:10::1"]);
const OUTSIDE: Sender = (OfPort::GATEWAY, [GATEWAY, VIRTUAL], ["192.0.2.9", "2001:db8::9"]);

/// Where packets like `kind` leave to, on their way to each of these addresses.
#[track_caller]
fn check(bridge: &Bridge, sender: Sender, kind: &str, to: &[&str], leaves_by: &str) {
    let (port, [from_mac, to_mac], [v4, v6]) = sender;
    for to in to {
        let (addresses, kind) = match ip(to).is_ipv4() {
            true => (format!("nw_src={v4},nw_dst={to}"), kind.to_owned()),
            false => (
                format!("ipv6_src={v6},ipv6_dst={to}"),
                kind.replace("udp,", "udp6,").replace("ip,", "ipv6,"),
            ),
        };
        let tunnel = match port {
            OfPort::TUNNEL => format!(",{}", from_node_2(IpFamily::of(&ip(to)))),
            _ => String::new(),
        };
        let walk = bridge.walk_in(
            "trk,est",
            &format!("{kind},nw_ttl=64,in_port={port}{tunnel},dl_src={from_mac},dl_dst={to_mac},{addresses}"),
        );
        let outcome = walk.rsplit([',', ' ']).next().unwrap_or_default();
        assert_eq!(outcome, leaves_by, "{kind} to {to}\n{walk}");
        assert!(walk.contains("Output: "), "{kind} to {to}\n{walk}");
    }
}

/// Peers, this Node, its gateway, and Nodes that nobody has told of yet.
const BEHIND_THE_HOST: [&str; 8] = [
    "172.18.0.2",
    "172.18.0.1",
    "10.10.0.1",
    "192.0.2.1",
    "fd00:18::2",
    "fd00:18::1",
    "fd00:10::1",
    "2001:db8::1",
];

#[test]
fn a_pod_sends_nothing_to_the_tunnel_of_a_node() {
    let Some(bridge) = bridge() else { return };
    check(&bridge, POD, GENEVE, &BEHIND_THE_HOST, "drop");
}

#[test]
fn a_pod_sends_everything_else_to_nodes_and_the_outside() {
    let Some(bridge) = bridge() else { return };
    for kind in ["udp,udp_dst=6082", "udp,udp_src=6081,udp_dst=53", "ip,nw_proto=47", "ip,nw_proto=50"] {
        check(&bridge, POD, kind, &BEHIND_THE_HOST, "antrea-gw0");
    }
    check(&bridge, POD, "tcp,tcp_dst=6081", &["172.18.0.2"], "antrea-gw0");
}

#[test]
fn pods_have_that_port_for_one_another_and_for_nodes() {
    let Some(bridge) = bridge() else { return };
    for sender in [POD, POD_OF_A_PEER, HOST, OUTSIDE] {
        check(&bridge, sender, GENEVE, &["10.10.0.11", "fd00:10::b"], "pod-b");
    }
    for sender in [POD, HOST] {
        check(&bridge, sender, GENEVE, &["10.10.1.11"], "172.18.0.2");
        check(&bridge, sender, GENEVE, &["fd00:10:0:1::b"], "fd00:18::2");
    }
}

/// The host's own end of the tunnel has the gateway's address, too.
#[test]
fn a_pod_of_a_peer_sends_nothing_through_the_tunnel_to_the_tunnel_of_this_node() {
    let Some(bridge) = bridge() else { return };
    check(&bridge, POD_OF_A_PEER, GENEVE, &["10.10.0.1", "fd00:10::1"], "drop");
    check(&bridge, POD_OF_A_PEER, "udp,udp_dst=6082", &["10.10.0.1", "fd00:10::1"], "antrea-gw0");
}

/// The bridge of a Node whose tunnel is GRE to the outside.
pub(crate) fn over_gre() -> Bridge {
    let tunnel = Some(Tunnel { of_port: OfPort::TUNNEL, traffic: TunnelTraffic::Gre });
    let pipeline = Pipeline::new(PipelineConfig { tunnel, ..node(DUAL, services()).config().clone() });
    let flows = all_flows(&pipeline, &pods(DUAL), &peers(DUAL));
    Bridge::start(BridgeNames::of(&pipeline), &flows, &[""; 0])
}

#[test]
fn where_the_tunnel_is_gre_a_pod_sends_no_gre() {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    let Some(bridge) = shared(&SHARED, over_gre) else { return };
    check(&bridge, POD, "ip,nw_proto=47", &BEHIND_THE_HOST, "drop");
    check(&bridge, POD, "ip,nw_proto=47", &["10.10.0.11", "fd00:10::b"], "pod-b");
    check(&bridge, POD, GENEVE, &BEHIND_THE_HOST, "antrea-gw0");
}

/// Service 30 leads to the tunnel of node 2, Service 31 to the port beside it.
fn serving_node_2() -> Bridge {
    let pipeline = serving(DUAL, everything(DUAL));
    let mut more = Served::default();
    for (number, port) in [(30, 6081), (31, 6082)] {
        let address = SocketAddr::new(ip("172.18.0.2"), port);
        let endpoint = Endpoint { address, place: EndpointPlace::Elsewhere };
        add(&mut more, number, endpoint, EndpointKind::Direct);
        more.backends.push(Backend::Translated { protocol: Protocol::Udp, address });
    }
    more.frontends.iter_mut().for_each(|frontend| frontend.protocol = Protocol::Udp);
    let flows = [node_flows(&pipeline, DUAL), more.flows(&pipeline)].concat();
    let mut groups = Served::by(&everything(DUAL), DUAL).groups(&pipeline);
    groups.extend(more.groups(&pipeline));
    Bridge::start(BridgeNames::of(&pipeline), &flows, &groups)
}

/// What comes by the gateway may be a Pod's: through a NodePort of another Node.
#[test]
fn no_service_leads_to_the_tunnel_of_a_node() {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    let Some(bridge) = shared(&SHARED, serving_node_2) else { return };
    for ((port, macs, [from, _]), client) in [(POD, 1201), (HOST, 1202), (OUTSIDE, 1203)] {
        let reaches = |service| {
            let to: (IpAddr, u16) = (cluster_ip(V4, service), 80);
            let packet = Packet { protocol: Protocol::Udp, ..opens(port, macs, ip(from), to, client) };
            let passages = [bridge.send(&packet), bridge.send(&packet)];
            passages.map(|passage| (passage.reaches_output(), passage.to_string().contains(" > Output")))
        };
        assert_eq!(reaches(30), [(false, true); 2], "{from}");
        assert_eq!(reaches(31), [(true, true); 2], "{from}");
    }
}
