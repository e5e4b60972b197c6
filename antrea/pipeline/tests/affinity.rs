//! How many clients of a Service the switch remembers, in a real Open vSwitch.

use std::net::Ipv4Addr;

use antrea_types::{IpFamily, OfPort};

use crate::bridge::{Bridge, service_bridge, why_not};
use crate::cluster::{A_LINK_LOCAL, BridgeNames, DUAL, POD_A};
use crate::passage::Passage;
use crate::served::{self, Served, cluster_ip, everything};
use crate::service_passages::{A, GATEWAY, V4, VIRTUAL, ip, opens};

/// The clients of Service 4 that are remembered, as far as their addresses begin so.
fn remembered(bridge: &Bridge, source: &str) -> Vec<String> {
    let learned = bridge.learned();
    let sources = learned.lines().filter_map(|line| line.split_once(&format!("_src={source}")));
    let mut sources: Vec<String> =
        sources.filter_map(|(_, rest)| Some(format!("{source}{}", rest.split(',').next()?))).collect();
    sources.sort_unstable();
    sources
}

#[test]
fn a_pod_is_one_client_whatever_link_local_address_it_writes() {
    let Some(bridge) = service_bridge() else { return };
    let service = (cluster_ip(IpFamily::V6, 4), 80);
    for (from, passes) in [("fe80::1", false), ("fe80::2", false), ("fe80::a", false), (A_LINK_LOCAL, true)] {
        let passage = bridge.send(&opens(POD_A, [A, GATEWAY], ip(from), service, 1151));
        assert_eq!(passage.reaches_output(), passes, "{from}: {passage}");
    }
    assert_eq!(remembered(&bridge, "fe80:"), [A_LINK_LOCAL]);
}

/// The limit of the Node, made smaller: the first clients are remembered, and all are served.
#[test]
fn the_switch_remembers_as_many_clients_as_a_service_may_have() {
    let test = "the_switch_remembers_as_many_clients_as_a_service_may_have";
    if let Some(reason) = why_not() {
        println!("SKIPPED {test}: {reason}");
        return;
    }
    let pipeline = served::node(DUAL, everything(DUAL));
    let flows: Vec<String> = served::node_flows(&pipeline, DUAL)
        .iter()
        .map(|flow| flow.to_string().replace(",limit=16384,", ",limit=3,"))
        .collect();
    let groups = Served::by(&everything(DUAL), DUAL).groups(&pipeline);
    let bridge = Bridge::start(BridgeNames::of(&pipeline), &flows, &groups);
    let sends = |client: u8, port| -> Passage {
        let from = Ipv4Addr::new(192, 0, 2, client).into();
        bridge.send(&opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], from, (cluster_ip(V4, 4), 80), port))
    };
    for (client, port) in (1..=5).zip(1161..) {
        assert!(sends(client, port).reaches_output(), "client {client}");
    }
    assert!(sends(1, 1171).reaches_output());
    assert_eq!(remembered(&bridge, "192.0.2."), ["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
}
