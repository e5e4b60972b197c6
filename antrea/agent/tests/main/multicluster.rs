//! The agent in a cluster of a ClusterSet: cluster b has Services in 10.111.0.0/16, and the Gateway 172.18.5.1.

use crate::node::{Node, node};

const CLUSTER_B: &str = "---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: ClusterInfoImport
metadata: {name: b-clusterinfo, namespace: mc}
spec: {clusterID: b, serviceCIDR: 10.111.0.0/16, gatewayInfos: [{gatewayIP: 172.18.5.1}]}
";

/// A Gateway of the Node's own cluster.
fn gateway(node: &str, address: &str) -> String {
    format!(
        "---\napiVersion: multicluster.crd.antrea.io/v1alpha1\nkind: Gateway\n\
         metadata: {{name: {node}, namespace: mc}}\n\
         gatewayIP: {address}\ninternalIP: {address}\nserviceCIDR: 10.97.0.0/16\n"
    )
}

/// A Node of a member cluster, with these objects.
fn member(test: &str, objects: &[&str]) -> Option<Node> {
    let node = node(test)?;
    node.configure(
        "featureGates: {Multicluster: true}\nmulticluster: {enableGateway: true, namespace: mc}\n",
    );
    node.write("objects/clusterset.yaml", &objects.concat());
    Some(node)
}

/// The flow that sends packets with this destination through the tunnel.
fn to(node: &Node, destination: &str) -> Option<String> {
    let (flows, to) = (node.dump_flows(), format!("nw_dst={destination} "));
    flows.lines().find(|line| line.contains(&to) && line.contains("->tun_dst")).map(str::to_owned)
}

/// Waits until packets to Services of cluster b leave by the tunnel to this address.
fn wait_for_tunnel(node: &Node, remote: &str) {
    let action = format!("{remote}->tun_dst");
    node.wait_for(&format!("a tunnel to {remote}"), |node| {
        to(node, "10.111.0.0/16").is_some_and(|flow| flow.contains(&action))
    });
}

#[test]
fn a_node_follows_the_gateway_of_its_cluster() {
    let (node_a, node_b) = (gateway("node-a", "172.18.2.11"), gateway("node-b", "172.18.2.12"));
    let Some(mut node) = member("a_node_follows_the_gateway_of_its_cluster", &[CLUSTER_B, &node_b]) else {
        return;
    };
    node.start_agent();
    wait_for_tunnel(&node, "172.18.2.12");
    assert!(to(&node, "172.18.5.1").is_some_and(|flow| flow.contains("+rpl")), "{}", node.dump_flows());
    assert!(!node.dump_flows().contains("nat(src=172.18.2.11:"), "{}", node.dump_flows());

    node.write("objects/clusterset.yaml", &[CLUSTER_B, &node_b, &node_a].concat());
    wait_for_tunnel(&node, "172.18.5.1");
    assert!(node.dump_flows().contains("nat(src=172.18.2.11:"), "{}", node.dump_flows());

    node.write("objects/clusterset.yaml", &[CLUSTER_B, &node_b].concat());
    wait_for_tunnel(&node, "172.18.2.12");
    assert!(!node.dump_flows().contains("nat(src=172.18.2.11:"), "{}", node.dump_flows());

    node.write("objects/clusterset.yaml", CLUSTER_B);
    node.wait_for("all of it to go with the Gateway", |node| {
        !node.dump_flows().contains("aa:bb:cc:dd:ee:f0")
    });
    node.stop_agent("TERM");
}

#[test]
fn packets_to_other_clusters_pass_while_the_agent_is_killed_and_started() {
    let test = "packets_to_other_clusters_pass_while_the_agent_is_killed_and_started";
    let Some(mut node) = member(test, &[CLUSTER_B, &gateway("node-a", "172.18.2.11")]) else { return };
    node.start_agent();
    wait_for_tunnel(&node, "172.18.5.1");
    let socket = node.ovs.management_socket("br-int").display().to_string();
    let count = "grep -c -e nw_dst=10.111.0.0/16 -e nw_dst=172.18.5.1 -e aa:bb:cc:dd:ee:f0";
    let script =
        format!("while :; do ovs-ofctl -O OpenFlow15 dump-flows {socket} | {count}; sleep 0.01; done");
    let counts = std::fs::File::create(format!("{}/counts", node.folder())).unwrap();
    let mut counting = node.ovs.command("sh").args(["-c", &script]).stdout(counts).spawn().unwrap();
    node.wait_for("the first count", |node| node.read("counts").lines().count() > 0);
    node.stop_agent("KILL");
    node.start_agent();
    node.wait_for("flows of the first agent to go", |node| !node.dump_flows().contains("cookie=0x1"));
    counting.kill().unwrap();
    counting.wait().unwrap();
    let counts = node.read("counts");
    let whole = counts.lines().next().unwrap();
    assert!(counts.lines().count() > 2 && counts.lines().all(|count| count == whole), "{counts}");
    node.stop_agent("TERM");
}

#[test]
fn what_is_wrong_with_one_object_leaves_the_others_alone() {
    let wrong = CLUSTER_B.replace("b-clusterinfo", "c").replace("clusterID: b", "clusterID: c");
    let overlapping = wrong.replace("172.18.5.1", "172.18.6.1").replace("10.111.0.0/16", "10.11.0.0/16");
    let test = "what_is_wrong_with_one_object_leaves_the_others_alone";
    let Some(mut node) = member(test, &[CLUSTER_B, &gateway("node-b", "172.18.2.12"), &overlapping]) else {
        return;
    };
    node.start_agent();
    wait_for_tunnel(&node, "172.18.2.12");
    assert_eq!(to(&node, "10.11.0.0/16"), None);
    let log = node.read("agent.log");
    assert!(log.contains("ClusterInfoImport c") && log.contains("10.11.0.0/16 is not reached"), "{log}");
    node.stop_agent("TERM");
}

#[test]
fn a_gateway_says_which_nodes_do_not_answer_through_the_tunnel() {
    let test = "a_gateway_says_which_nodes_do_not_answer_through_the_tunnel";
    let Some(mut node) = member(test, &[CLUSTER_B, &gateway("node-a", "172.18.2.11")]) else { return };
    node.start_agent();
    node.wait_for("the report", |node| {
        node.read("agent.log").contains("reached=0 probed=1 unreached=\"node-b\"")
    });
    let log = node.read("agent.log");
    assert!(!log.contains("was not written"), "{log}");
    node.stop_agent("TERM");
}
