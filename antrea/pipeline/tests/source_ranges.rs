//! From where addresses of load balancers are reached in a real Open vSwitch (`ofproto/trace`), and from where not. The
//! Services are in [`crate::served`]: port 82 is open to Pod a and to a network outside, port 83 to that of the Nodes.

use antrea_types::IpFamily;

use crate::bridge::{Bridge, direct_bridge, from_node_2, service_bridge};
use crate::served::load_balancer_ip;

const GATEWAY: &str = "in_port=32769,dl_src=0a:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff";
const POD_A: &str = "in_port=2,dl_src=0a:00:00:00:00:0a,dl_dst=0a:00:00:00:00:01";
const POD_B: &str = "in_port=3,dl_src=0a:00:00:00:00:0b,dl_dst=0a:00:00:00:00:01";
const TUNNEL: &str = "in_port=32768,dl_src=0c:00:00:00:00:01,dl_dst=aa:bb:cc:dd:ee:ff";

/// What becomes of a first packet to a port of the load balancer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// An endpoint is chosen.
    Served,
    /// It goes nowhere.
    Denied,
}

use Fate::{Denied, Served};

/// Sends from both families' addresses of a client to both ports.
#[track_caller]
fn check(from: &str, sources: [&str; 2], expect: [Fate; 2]) {
    if let Some(bridge) = service_bridge() {
        check_on(&bridge, from, sources, expect);
    }
}

#[track_caller]
fn check_on(bridge: &Bridge, from: &str, [v4, v6]: [&str; 2], expect: [Fate; 2]) {
    for (family, source) in [(IpFamily::V4, v4), (IpFamily::V6, v6)] {
        let to = load_balancer_ip(family);
        let mut addresses = match family {
            IpFamily::V4 => format!("tcp,nw_src={source},nw_dst={to}"),
            IpFamily::V6 => format!("tcp6,ipv6_src={source},ipv6_dst={to}"),
        };
        if from == TUNNEL {
            addresses = format!("{},{addresses}", from_node_2(family));
        }
        for (port, fate) in [82, 83].into_iter().zip(expect) {
            let way = bridge.walk(&format!("{from},{addresses},nw_ttl=64,tp_src=40000,tp_dst={port}"));
            let seen = match (way.contains("ServiceLB"), way.ends_with("PreRoutingClassifier: drop")) {
                (true, false) => Served,
                (false, true) => Denied,
                _ => panic!("neither: {way}"),
            };
            assert_eq!(seen, fate, "from {source} to port {port}: {way}");
        }
    }
}

#[test]
fn who_is_outside_reaches_a_load_balancer_from_its_ranges_alone() {
    check(GATEWAY, ["198.51.100.7", "2001:db8:1::7"], [Served, Denied]);
    check(GATEWAY, ["203.0.113.7", "2001:db8:2::7"], [Denied, Denied]);
    check(GATEWAY, ["172.18.0.2", "fd00:18::2"], [Denied, Served]);
}

#[test]
fn pods_reach_a_load_balancer_from_its_ranges_alone() {
    check(POD_A, ["10.10.0.10", "fd00:10::a"], [Served, Denied]);
    check(POD_B, ["10.10.0.11", "fd00:10::b"], [Denied, Denied]);
}

/// What the Node itself sends comes from its gateway's address, whichever of its own the ranges have.
#[test]
fn the_node_reaches_a_load_balancer_whose_ranges_have_its_own_address() {
    check(GATEWAY, ["10.10.0.1", "fd00:10::1"], [Denied, Served]);
}

/// Where endpoints answer clients directly: else it comes from the other Node's gateway.
#[test]
fn what_another_node_sends_on_counts_by_its_client() {
    let Some(bridge) = direct_bridge() else { return };
    check_on(&bridge, TUNNEL, ["198.51.100.7", "2001:db8:1::7"], [Served, Denied]);
    check_on(&bridge, TUNNEL, ["10.10.1.1", "fd00:10:0:1::1"], [Denied, Denied]);
}

/// The Service is the same, and so are its endpoints.
#[test]
fn other_addresses_of_the_service_are_open() {
    let Some(bridge) = service_bridge() else { return };
    for (to, port) in [("10.96.0.1", 80), ("172.18.0.1", 30001)] {
        for (from, source) in [(POD_B, "10.10.0.11"), (GATEWAY, "203.0.113.7")] {
            let packet =
                format!("{from},tcp,nw_src={source},nw_dst={to},nw_ttl=64,tp_src=40000,tp_dst={port}");
            let way = bridge.walk(&packet);
            assert!(way.contains("ServiceLB"), "from {source} to {to}: {way}");
        }
    }
}
