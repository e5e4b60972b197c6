//! Connections of an endpoint that is gone are forgotten, and no others.

use std::sync::{Mutex, Weak};

use antrea_openflow::message::{CtFlush, CtTuple};
use antrea_openflow::protocol;
use antrea_ovs::openflow::Connection;
use antrea_pipeline::fields::ct_zone;
use antrea_types::{IpFamily, Protocol};

use crate::bridge::{Bridge, shared};
use crate::cluster::{BridgeNames, DUAL, POD_A};
use crate::packets::Packet;
use crate::served::{self, Served, cluster_ip, cluster_ips_only};

/// A datagram of Pod a to a Service.
fn datagram(family: IpFamily, service: u8, client_port: u16) -> Packet {
    let client = match family {
        IpFamily::V4 => "10.10.0.10",
        IpFamily::V6 => "fd00:10::a",
    };
    Packet {
        in_port: POD_A,
        macs: ["0a:00:00:00:00:0a", "0a:00:00:00:00:01"],
        addresses: [client.parse().unwrap(), cluster_ip(family, service)],
        ports: [client_port, 80],
        protocol: Protocol::Udp,
        tcp: (0, 0, 0),
    }
}

#[tokio::test]
async fn connections_to_an_endpoint_are_forgotten_and_no_others() {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    let pipeline = served::node(DUAL, cluster_ips_only());
    let served = Served::by(&cluster_ips_only(), DUAL);
    let flows = served::node_flows(&pipeline, DUAL);
    let start = || Bridge::start(BridgeNames::of(&pipeline), &flows, &served.groups(&pipeline));
    let Some(bridge) = shared(&SHARED, start) else { return };
    let (connection, _unasked) = Connection::open(bridge.management_socket());
    let channel = connection.connected().await.unwrap();
    for family in IpFamily::ALL {
        let packets = [datagram(family, 1, 3001), datagram(family, 1, 3002)];
        let tcp = Packet { protocol: Protocol::Tcp, tcp: (2, 0, 0), ..datagram(family, 1, 3003) };
        let sent = packets.iter().chain([&tcp]).map(|packet| bridge.send(packet).connections.len());
        assert_eq!(sent.sum::<usize>(), 3);
        let flush = CtFlush {
            zone: ct_zone(family),
            protocol: protocol::UDP,
            original: CtTuple {
                source_port: Some(3001),
                destination: Some(cluster_ip(family, 1)),
                destination_port: Some(80),
                ..CtTuple::default()
            },
            reply: CtTuple {
                source: Some(served::local(family).address.ip()),
                source_port: Some(8080),
                ..CtTuple::default()
            },
        };
        channel.flush_connections(flush).await.unwrap();
        let left = bridge.connections().join("\n");
        assert!(!left.contains("3001"), "{left}");
        assert!(left.contains("3002") && left.contains("3003"), "{left}");
        // Whoever the client is.
        let original = CtTuple { source_port: None, ..flush.original };
        channel.flush_connections(CtFlush { original, ..flush }).await.unwrap();
        let left = bridge.connections().join("\n");
        assert!(!left.contains("3002") && left.contains("3003"), "{left}");
        channel.flush_conntrack_zone(ct_zone(family)).await.unwrap();
    }
}
