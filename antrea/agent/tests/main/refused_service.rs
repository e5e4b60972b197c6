//! What Open vSwitch refuses of one Service stops nothing else.

use std::path::Path;

use crate::node::{Node, node};
use crate::service_health::{PROXY_ALL, SERVICE};
use crate::takeover::upstream_was_here;

/// From now on the table with a flow like that takes no more flows; those that are there can be replaced.
fn fill_table_of(node: &Node, flow: &str) {
    let flows = node.dump_flows();
    let table = |line: &str| line.split("table=").nth(1)?.split(',').next().map(str::to_owned);
    let number = flows.lines().find(|line| line.contains(flow)).and_then(table).unwrap();
    let count = flows.lines().filter(|line| table(line).as_ref() == Some(&number)).count();
    let words = format!(
        "-- --id=@full create Flow_Table flow_limit={count} overflow_policy=refuse \
         -- set Bridge br-int flow_tables:{number}=@full"
    );
    node.ovs.vsctl(words.split_whitespace()).unwrap();
}

#[test]
fn a_service_that_is_refused_keeps_back_neither_flows_of_earlier_agents_nor_addresses_of_former_pods() {
    let test =
        "a_service_that_is_refused_keeps_back_neither_flows_of_earlier_agents_nor_addresses_of_former_pods";
    let Some(mut node) = node(test) else { return };
    upstream_was_here(&mut node);
    node.configure(PROXY_ALL);
    node.write("objects/services.yaml", SERVICE);
    node.start_agent();
    let round = |node: &Node| node.ovs.vsctl(["get", "Bridge", "br-int", "external_ids:roundNum"]).unwrap();
    node.wait_for("the first round", |node| round(node).contains("\"2\""));
    fill_table_of(&node, "nw_dst=10.97.0.5,tp_dst=80");
    node.stop_agent("TERM");

    let pods = node.read("objects/pods.yaml");
    let (of_a, _) = pods.split_once("---\napiVersion: v1\nkind: Pod\nmetadata: {name: b").unwrap();
    node.write("objects/pods.yaml", of_a);
    let other = SERVICE.replace("10.97.0.5", "10.97.0.6").replace("web", "other");
    let other = other.replace("31080", "31081").replace("31999", "31998").replace("192.0.2.80", "192.0.2.81");
    node.write("objects/services.yaml", &format!("{SERVICE}---\n{other}"));
    let address = Path::new(&node.folder()).join("cni/networks/antrea/10.11.0.4");
    assert!(address.exists());
    node.start_agent();
    node.wait_for("the address to be given back", |_| !address.exists());
    node.wait_for("the second round", |node| round(node).contains("\"3\""));
    assert!(node.read("agent.log").contains("A Service is not as it should be"), "nothing was refused");
    let flows = node.dump_flows();
    assert!(flows.contains("nw_dst=10.97.0.5,tp_dst=80") && !flows.contains("nw_dst=10.97.0.6"), "{flows}");
    assert!(!flows.contains("cookie=0x2"), "{flows}");
    node.stop_agent("TERM");
}
