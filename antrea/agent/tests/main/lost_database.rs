//! What the agent has noted in OVSDB is lost while it runs: the bridge is deleted by hand, or the database begins anew.

use std::fs;

use crate::node::{Node, node};
use crate::takeover::upstream_was_here;

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

fn wait_for(node: &Node, expected: &[String]) {
    node.wait_for("everything to be noted again", |node| rows(node) == expected);
    node.wait_for("the Pods to be connected again", |node| {
        node.ping("a", "10.11.0.4") && node.ping("b", "10.11.0.1")
    });
}

#[test]
fn a_bridge_that_is_deleted_comes_back_with_its_pods() {
    let Some(mut node) = node("a_bridge_that_is_deleted_comes_back_with_its_pods") else { return };
    let before = settled(&mut node);
    node.ovs.vsctl(["del-br", "br-int"]).unwrap();
    wait_for(&node, &before);
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
    wait_for(&node, &before);
    node.stop_agent("TERM");
}
