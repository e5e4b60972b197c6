//! Ports of connections between clusters: other clusters know a Gateway's address alone, so they tell its connections apart by
//! the port.

use std::collections::BTreeSet;

use antrea_types::OfPort;

use crate::bridge::Bridge;
use crate::cluster::POD_A;
use crate::clusters::gateway_bridge;
use crate::gateway_passages::{BETWEEN_CLUSTERS, REMOTE_GATEWAY, enters};
use crate::served::cluster_ip;
use crate::service_passages::{A, GATEWAY, V4, VIRTUAL, ip, opens};

/// The ports that answers of `from` come to.
fn answered_ports(bridge: &Bridge, from: &str, zone: u16) -> Vec<String> {
    let connections = bridge.connections();
    let of_zone = connections.iter().filter(|text| text.contains(&format!("zone={zone}")));
    let replies = of_zone.filter_map(|text| text.split("reply=(").nth(1));
    let replies = replies.filter(|reply| reply.starts_with(&format!("src={from},")));
    replies
        .filter_map(|reply| Some(reply.split("dport=").nth(1)?.split([')', ',']).next()?.to_owned()))
        .collect()
}

/// The Service sees all of them come from one address.
#[test]
fn clients_with_the_same_port_reach_another_cluster_from_different_ones() {
    let Some(bridge) = gateway_bridge() else { return };
    let to = (ip("10.111.0.9"), 80);
    for packet in [
        enters(BETWEEN_CLUSTERS, "10.10.1.10", to, 2020),
        enters(BETWEEN_CLUSTERS, "10.10.1.11", to, 2020),
        opens(POD_A, [A, GATEWAY], ip("10.10.0.10"), to, 2020),
        opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], ip("10.10.0.1"), to, 2020),
        opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], ip("172.18.0.1"), to, 2020),
    ] {
        assert!(bridge.send(&packet).reaches_output());
        assert!(bridge.send(&packet).reaches_output());
    }
    let mut ports = answered_ports(&bridge, "10.111.0.9", 65521);
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 5, "{:#?}", bridge.connections());
}

/// For another cluster's Gateway, a Pod and the Services that it is the endpoint of are different destinations: it takes the
/// same port for connections to all of them.
#[test]
fn a_pod_and_its_services_are_reached_from_one_port() {
    let Some(bridge) = gateway_bridge() else { return };
    let pod = (ip("10.10.1.10"), 8080);
    let [service, other] = [2, 22].map(|service| (cluster_ip(V4, service), 80));
    for (port, order) in [(2021, [service, other, pod]), (2031, [pod, service, other])] {
        let mut ways = Vec::new();
        for to in order {
            let packet = enters(BETWEEN_CLUSTERS, REMOTE_GATEWAY, to, port);
            for _ in 0..2 {
                let passage = bridge.send(&packet);
                assert!(passage.reaches_output(), "{to:?}: {passage}");
            }
            ways.push(format!("src={REMOTE_GATEWAY},dst={},sport={port},", to.0));
        }
        let connections = bridge.connections();
        let replies = ways.iter().filter_map(|way| {
            let text = connections.iter().find(|text| text.contains(way) && text.contains("zone=65520"))?;
            text.split("reply=").nth(1)?.split(')').next()
        });
        let replies: BTreeSet<&str> = replies.collect();
        assert_eq!(replies.len(), 3, "{connections:#?}");
    }
}
