//! The tables and flows of a Node as text, for IPv4, IPv6 and both.

use antrea_openflow::Flow;
use antrea_pipeline::{Pipeline, PipelineConfig};

use crate::cluster::{BridgeNames, DUAL, Families, V4, V6, all_flows, node, peers, pods, services};

pub(crate) fn tables(pipeline: &Pipeline) -> String {
    let names = pipeline.table_names();
    let lines = names.iter().map(|(id, name)| format!("{id} {name}"));
    lines.collect::<Vec<_>>().join("\n")
}

pub(crate) fn text(pipeline: &Pipeline, flows: &[Flow]) -> String {
    let names = BridgeNames::of(pipeline);
    flows.iter().map(|flow| format!("{}\n", flow.display(&names))).collect()
}

fn check(name: &str, families: Families) {
    let pipeline = node(families, services());
    let mut parts = vec![format!("# The Node\n{}", text(&pipeline, &pipeline.base_flows()))];
    for pod in pods(families) {
        parts.push(format!(
            "# Pod behind port {}\n{}",
            pod.of_port,
            text(&pipeline, &pipeline.pod_flows(&pod))
        ));
    }
    for peer in peers(families) {
        parts.push(format!("# Peer {}\n{}", peer.node, text(&pipeline, &pipeline.peer_flows(&peer))));
    }
    insta::assert_snapshot!(name, parts.join("\n"));
}

#[test]
fn flows_of_a_node_with_ipv4() {
    check("flows_ipv4", V4);
}

#[test]
fn flows_of_a_node_with_ipv6() {
    check("flows_ipv6", V6);
}

#[test]
fn flows_of_a_node_with_both() {
    check("flows_dual_stack", DUAL);
}

#[test]
fn tables_of_a_node_with_ipv4() {
    insta::assert_snapshot!(tables(&node(V4, services())), @"
    0 PipelineRootClassifier
    1 ARPSpoofGuard
    2 ARPResponder
    3 Classifier
    4 SpoofGuard
    5 ConntrackZone
    6 ConntrackState
    7 DNAT
    8 L3Forwarding
    9 L3DecTTL
    10 L2ForwardingCalc
    11 ConntrackCommit
    12 Output
    ");
}

#[test]
fn tables_of_a_node_with_ipv6() {
    insta::assert_snapshot!(tables(&node(V6, services())), @"
    0 PipelineRootClassifier
    1 Classifier
    2 SpoofGuard
    3 IPv6
    4 ConntrackZone
    5 ConntrackState
    6 DNAT
    7 L3Forwarding
    8 L3DecTTL
    9 L2ForwardingCalc
    10 ConntrackCommit
    11 Output
    ");
}

#[test]
fn tables_of_a_node_with_both() {
    insta::assert_snapshot!(tables(&node(DUAL, services())), @"
    0 PipelineRootClassifier
    1 ARPSpoofGuard
    2 ARPResponder
    3 Classifier
    4 SpoofGuard
    5 IPv6
    6 ConntrackZone
    7 ConntrackState
    8 DNAT
    9 L3Forwarding
    10 L3DecTTL
    11 L2ForwardingCalc
    12 ConntrackCommit
    13 Output
    ");
}

#[test]
fn without_service_networks_there_is_no_dnat_table() {
    let pipeline = node(DUAL, antrea_types::DualStack::default());
    assert!(pipeline.table_names().iter().all(|(_, name)| *name != "DNAT"));
}

#[test]
fn without_a_tunnel_no_flow_is_for_its_port_or_mac() {
    let with_tunnel = node(DUAL, services());
    let config = PipelineConfig { tunnel: None, ..with_tunnel.config().clone() };
    let pipeline = Pipeline::new(config);
    let flows = text(&pipeline, &pipeline.base_flows());
    assert!(!flows.contains("32768") && !flows.contains("aa:bb:cc:dd:ee:ff"), "{flows}");
}

#[test]
fn no_two_flows_of_a_node_are_for_the_same_packets() {
    let pipeline = node(DUAL, services());
    let flows = all_flows(&pipeline, &pods(DUAL), &peers(DUAL));
    let mut keys: Vec<_> = flows.iter().map(Flow::key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), flows.len());
}
