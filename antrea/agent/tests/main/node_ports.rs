//! The addresses that NodePorts are served on, in a real Open vSwitch and kernel, as they come and go.

use crate::node::{Node, node};
use crate::service_health::{PROXY_ALL, SERVICE};

const LATER: &str = "172.18.7.7";

/// Whether bridge and kernel have NodePorts on an address.
fn are_served_on(node: &Node, address: &str) -> (bool, bool) {
    let sets = node.sh("ipset list ANTREA-NODEPORT-IP");
    (node.dump_flows().contains(&format!("nw_dst={address} actions=")), sets.contains(address))
}

#[test]
fn node_ports_are_served_on_addresses_that_come_later_and_not_on_those_that_go() {
    let test = "node_ports_are_served_on_addresses_that_come_later_and_not_on_those_that_go";
    let Some(mut node) = node(test) else { return };
    node.configure(PROXY_ALL);
    node.write("objects/services.yaml", SERVICE);
    node.start_agent();
    let (yes, no) = ((true, true), (false, false));
    node.wait_for("NodePorts", |node| are_served_on(node, "172.18.2.11") == yes);
    assert_eq!(are_served_on(&node, LATER), no);
    node.sh(&format!("ip link add later type bridge; ip address add {LATER}/24 dev later"));
    node.wait_for("NodePorts on the new address", |node| are_served_on(node, LATER) == yes);
    node.sh("ip link delete later");
    node.wait_for("no NodePorts on it any more", |node| are_served_on(node, LATER) == no);
    assert_eq!(are_served_on(&node, "172.18.2.11"), yes);
    node.stop_agent("TERM");
}
