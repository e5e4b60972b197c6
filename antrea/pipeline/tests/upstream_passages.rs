//! How far a packet to a Service has to go, here and with upstream's flows: the tables that it comes to, and how often it
//! begins anew behind connection tracking. Both bridges have the flows of one Node for the same Services.

use std::net::IpAddr;
use std::sync::{Mutex, Weak};

use antrea_types::{OfPort, Protocol};

use crate::bridge::{Bridge, shared};
use crate::cluster::{BridgeNames, POD_A, POD_B};
use crate::packets::{ACK, Packet, SYN};
use crate::upstream_services::FIRST;

const A: &str = "f6:f3:e5:36:f9:32";
const B: &str = "56:58:8c:47:30:42";
const GATEWAY: &str = "02:83:db:9d:af:a1";

fn ours() -> Bridge {
    let pipeline = FIRST.pipeline();
    let served = FIRST.served();
    let mut flows = FIRST.node_flows(&pipeline);
    flows.extend(served.flows(&pipeline));
    Bridge::start(BridgeNames::of(&pipeline), &flows, &served.groups(&pipeline))
}

/// The flows for packets that go to the agent name meters and another connection; none of them is met here.
fn upstreams() -> Bridge {
    let pipeline = FIRST.pipeline();
    let flows: Vec<&str> = FIRST.flows.lines().filter(|line| !line.contains("controller(")).collect();
    let groups: Vec<&str> = FIRST.groups.lines().collect();
    Bridge::start(BridgeNames { tables: Vec::new(), ..BridgeNames::of(&pipeline) }, &flows, &groups)
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A connection of Pod a to a Service: what opens it, the answer, what comes then.
fn connection(service: &str, endpoint: &str, endpoint_port: OfPort, macs: [&'static str; 2]) -> [Packet; 3] {
    let first = Packet {
        in_port: POD_A,
        macs: [A, GATEWAY],
        addresses: [ip("10.11.0.3"), ip(service)],
        ports: [2000, 80],
        protocol: Protocol::Tcp,
        tcp: (SYN, 0, 0),
    };
    let answer = Packet {
        in_port: endpoint_port,
        macs,
        addresses: [ip(endpoint), ip("10.11.0.3")],
        ports: [8080, 2000],
        tcp: (SYN | ACK, 0, 1),
        ..first
    };
    [first, answer, Packet { tcp: (ACK, 1, 1), ..first }]
}

#[test]
fn packets_to_a_service_have_no_longer_way_than_with_upstream() {
    static OURS: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    static UPSTREAMS: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    let Some(ours) = shared(&OURS, ours) else { return };
    let Some(upstreams) = shared(&UPSTREAMS, upstreams) else { return };
    let here = connection("10.97.0.104", "10.11.0.4", POD_B, [B, A]);
    let across = connection("10.97.0.106", "10.11.1.3", OfPort::TUNNEL, [GATEWAY, "aa:bb:cc:dd:ee:ff"]);
    println!("tables and recirculations of a packet between a Pod and a ClusterIP: ours, upstream's");
    for (way, packets) in [("same Node", here), ("across", across)] {
        for (name, packet) in ["first", "answer", "established"].into_iter().zip(packets) {
            let [ours, theirs] = [&ours, &upstreams].map(|bridge| {
                let passage = bridge.send(&packet);
                assert!(passage.reaches_output(), "{way}, {name}: {passage}");
                (passage.lookups(), passage.recirculations)
            });
            println!("{way}, {name}: {} and {}, {} and {}", ours.0, ours.1, theirs.0, theirs.1);
            assert!(ours.0 <= theirs.0 && ours.1 <= theirs.1, "{way}, {name}: {ours:?}, {theirs:?}");
        }
    }
}
