//! What the agent has noted in OVSDB is lost while it runs: the bridge is deleted by hand, or the database begins anew.

use std::fs;
use std::time::Duration;

use crate::node::{Node, node};
use crate::takeover::upstream_was_here;

/// For what is done at once and not tried again: much less than the 30 seconds between two comparisons of flows.
const AT_ONCE: Duration = Duration::from_secs(10);

/// What the database says of ports and of the bridge.
fn rows(node: &Node) -> Vec<String> {
    let ports = ["--format=csv", "--columns=name,external_ids", "list", "Port"];
    let numbers = ["--format=csv", "--columns=name,ofport", "list", "Interface"];
    let bridge = ["get", "Bridge", "br-int", "external_ids:roundNum", "fail_mode"];
    let texts = [&ports[..], &numbers, &bridge].map(|words| node.ovs.vsctl(words).unwrap_or_default());
    let mut lines: Vec<_> = texts.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
    // Other bridges, and the bridge's own port, which need not be listed.
    lines.retain(|line| !line.contains("br-"));
    lines.sort_unstable();
    lines
}

/// A Node with Pods whose agent has settled, and what is to be noted of it from now on.
fn settled(node: &mut Node) -> Vec<String> {
    upstream_was_here(node);
    node.start_agent();
    node.wait_for("the flows of earlier agents to go", |node| rows(node).contains(&"\"2\"".to_owned()));
    // Upstream's bridge has another mode than one that is made now.
    let mut rows: Vec<_> = rows(node).into_iter().map(|line| line.replace("[]", "secure")).collect();
    rows.sort_unstable();
    rows
}

fn is_noted(node: &Node, expected: &[String]) -> bool {
    rows(node) == expected
}

fn has_connected_pods(node: &Node) -> bool {
    node.ping("a", "10.11.0.4") && node.ping("b", "10.11.0.1")
}

/// Flows of our first round after upstream's. A bridge without the agent's flows may have one of Open vSwitch itself.
fn flows(node: &Node) -> usize {
    node.dump_flows().lines().filter(|line| line.contains("cookie=0x2")).count()
}

fn connections(node: &Node) -> usize {
    node.read("agent.log").matches("Connected to the switch").count()
}

#[test]
fn a_bridge_that_is_deleted_comes_back_with_its_pods() {
    let Some(mut node) = node("a_bridge_that_is_deleted_comes_back_with_its_pods") else { return };
    let before = settled(&mut node);
    node.ovs.vsctl(["del-br", "br-int"]).unwrap();
    node.wait_for("everything to be noted again", |node| is_noted(node, &before));
    node.wait_for("the Pods to be connected again", has_connected_pods);
    node.stop_agent("TERM");
}

/// Open vSwitch deletes all flows and keeps the connection. Each change sets another fail mode; three in a row, because a periodic
/// comparison could restore the flows after one of them.
#[test]
fn flows_that_go_without_the_connection_come_back_at_once() {
    let Some(mut node) = node("flows_that_go_without_the_connection_come_back_at_once") else { return };
    settled(&mut node);
    let before = (flows(&node), connections(&node));
    let recreate = "del-br br-int -- add-br br-int -- set bridge br-int datapath_type=netdev protocols=OpenFlow10,OpenFlow15";
    for change in [
        format!("{recreate} fail_mode=secure"),
        format!("{recreate} fail_mode=standalone"),
        "set bridge br-int fail_mode=secure".to_owned(),
    ] {
        // By then the flows are gone: the program waits for ovs-vswitchd.
        node.ovs.vsctl(change.split_whitespace()).unwrap();
        node.wait_at_most(AT_ONCE, "all flows to be back", |node| flows(node) >= before.0);
        // A new connection would bring them back by itself.
        assert_eq!(connections(&node), before.1, "{change}: the connection did not stay");
    }
    node.wait_for("the Pods to be connected again", has_connected_pods);
    node.stop_agent("TERM");
}

#[test]
fn pods_outlive_a_database_that_begins_anew() {
    let Some(mut node) = node("pods_outlive_a_database_that_begins_anew") else { return };
    let before = settled(&mut node);
    node.ovs.kill_switch().unwrap();
    node.ovs.kill_database().unwrap();
    let file = node.ovs.directory().join("conf.db");
    fs::remove_file(&file).unwrap();
    node.sh(&format!("ovsdb-tool create {} /usr/share/openvswitch/vswitch.ovsschema", file.display()));
    node.ovs.start_database().unwrap();
    node.ovs.vsctl(["--no-wait", "init"]).unwrap();
    node.ovs.vsctl(["--no-wait", "set", "Open_vSwitch", ".", "other_config:flow-restore-wait=true"]).unwrap();
    node.ovs.start_switch().unwrap();
    node.wait_for("everything to be noted again", |node| is_noted(node, &before));
    node.wait_for("the Pods to be connected again", has_connected_pods);
    node.stop_agent("TERM");
}
