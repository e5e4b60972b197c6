//! Which Node is the Gateway.

use std::fmt::Write;

use antrea_mc_member::gateway::{Election, Failed, Handovers, NodeIpKind, Participation, Reports};
use antrea_mc_member::kind::Kind;
use serde_json::json;

use crate::objects::Cluster;

pub(crate) fn election() -> Election {
    Election {
        namespace: "kube-system".to_owned(),
        precedence: NodeIpKind::Internal,
        service_cidrs: vec!["fd00::/112".parse().unwrap(), "10.96.0.0/16".parse().unwrap()],
        participation: Participation::Member,
        reports: Reports::default(),
        failed: Failed::default(),
        handovers: Handovers::default(),
    }
}

/// A Node with the InternalIP 172.18.0.N and the ExternalIP 192.0.2.N.
pub(crate) fn node(number: u8, annotations: &str, more: &str) -> String {
    format!(
        "kind: Node
metadata: {{name: n{number}, annotations: {{{annotations}}}}}
{more}
status:
  addresses: [{{type: InternalIP, address: 'fd01::{number}'}}, {{type: InternalIP, address: 172.18.0.{number}}}, {{type: ExternalIP, address: 192.0.2.{number}}}]
  conditions: [{{type: Ready, status: 'True'}}]
---
"
    )
}

pub(crate) const YES: &str = "multicluster.antrea.io/gateway: 'true'";

#[track_caller]
fn check(nodes: &[String]) -> String {
    Cluster::of(&nodes.concat()).settle(&election())
}

#[test]
fn the_node_that_is_annotated_becomes_the_gateway() {
    insta::assert_snapshot!(check(&[node(1, "", ""), node(2, YES, "")]), @r#"
    create Gateway kube-system/n2
      gatewayIP: "172.18.0.2"
      internalIP: "172.18.0.2"
      serviceCIDR: "10.96.0.0/16"
      exported.mode: "Listed"
    "#);
}

#[test]
fn the_value_of_the_annotation_counts() {
    assert_eq!(check(&[node(1, &YES.replace("true", "false"), "")]), "");
    insta::assert_snapshot!(check(&[node(1, &YES.replace("true", "perhaps"), "")]), @r#"problem: Node n1 cannot be the Gateway: annotation multicluster.antrea.io/gateway is "perhaps"; use "true" or "false""#);
}

#[test]
fn the_gateway_ip_is_annotated_or_the_transport_address_or_by_precedence() {
    let mut table = String::new();
    let transport = "node.antrea.io/transport-addresses: 'fd02::1,10.0.0.9'";
    let gateway_ip = "multicluster.antrea.io/gateway-ip: 198.51.100.7";
    for precedence in [NodeIpKind::Internal, NodeIpKind::External] {
        for annotations in ["", transport, gateway_ip, &format!("{transport}, {gateway_ip}")] {
            let mut cluster = Cluster::of(&node(1, &format!("{YES}, {annotations}"), ""));
            cluster.settle(&Election { precedence, ..election() });
            let (_, gateway) = cluster.objects.all(Kind::Gateway).next().unwrap();
            writeln!(
                table,
                "{precedence:?} {annotations} -> {} {}",
                gateway["gatewayIP"], gateway["internalIP"]
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table, @r#"
    Internal  -> "172.18.0.1" "172.18.0.1"
    Internal node.antrea.io/transport-addresses: 'fd02::1,10.0.0.9' -> "10.0.0.9" "10.0.0.9"
    Internal multicluster.antrea.io/gateway-ip: 198.51.100.7 -> "198.51.100.7" "172.18.0.1"
    Internal node.antrea.io/transport-addresses: 'fd02::1,10.0.0.9', multicluster.antrea.io/gateway-ip: 198.51.100.7 -> "198.51.100.7" "10.0.0.9"
    External  -> "192.0.2.1" "172.18.0.1"
    External node.antrea.io/transport-addresses: 'fd02::1,10.0.0.9' -> "10.0.0.9" "10.0.0.9"
    External multicluster.antrea.io/gateway-ip: 198.51.100.7 -> "198.51.100.7" "172.18.0.1"
    External node.antrea.io/transport-addresses: 'fd02::1,10.0.0.9', multicluster.antrea.io/gateway-ip: 198.51.100.7 -> "198.51.100.7" "10.0.0.9"
    "#);
}

#[test]
fn a_gateway_ip_that_is_none_is_named() {
    insta::assert_snapshot!(check(&[node(1, &format!("{YES}, multicluster.antrea.io/gateway-ip: 'fd00::1'"), "")]), @r#"problem: Node n1 cannot be the Gateway: annotation multicluster.antrea.io/gateway-ip is "fd00::1", which is no IPv4 address; clusters are connected by IPv4"#);
}

/// A webhook refuses such a Gateway, however often it is sent.
#[test]
fn a_node_that_no_other_host_can_reach_keeps_none_from_being_the_gateway() {
    let loopback = format!("{YES}, multicluster.antrea.io/gateway-ip: 127.0.0.1");
    insta::assert_snapshot!(check(&[node(1, &loopback, ""), node(2, YES, "")]), @r#"
    create Gateway kube-system/n2
      gatewayIP: "172.18.0.2"
      internalIP: "172.18.0.2"
      serviceCIDR: "10.96.0.0/16"
      exported.mode: "Listed"
    problem: Node n1 cannot be the Gateway: 127.0.0.1 cannot be reached by other hosts, as no loopback address can
    "#);
    let transport = format!("{YES}, node.antrea.io/transport-addresses: 169.254.0.7");
    insta::assert_snapshot!(check(&[node(1, &transport, "")]), @"problem: Node n1 cannot be the Gateway: 169.254.0.7 cannot be reached by other hosts, as no link-local address can");
}

#[test]
fn another_node_takes_over_before_the_gateway_goes() {
    for fault in ["spec: {unschedulable: true}", "not ready", "no annotation", "gone"] {
        let mut cluster = Cluster::of(&[node(1, YES, ""), node(2, YES, "")].concat());
        cluster.settle(&election());
        match fault {
            "gone" => cluster.delete(Kind::Node, "", "n1"),
            "no annotation" => cluster.apply(&node(1, "", "")),
            "not ready" => cluster.apply(&node(1, YES, "").replace("status: 'True'", "status: Unknown")),
            spec => cluster.apply(&node(1, YES, spec)),
        }
        let done = cluster.settle_briefly(&election());
        let done: Vec<&str> = done.lines().filter(|line| !line.starts_with("problem")).collect();
        assert_eq!(done, ["create Gateway kube-system/n2", "delete Gateway kube-system/n1"], "{fault}");
    }
}

/// The exporter may wait for the leader. Connections of other clusters go on.
#[test]
fn the_next_gateway_lets_in_what_the_present_one_does() {
    let mut cluster = Cluster::of(&[node(1, YES, ""), node(2, YES, "")].concat());
    cluster.settle(&election());
    let exported = "exported: {mode: Listed, addresses: [10.96.0.7/32], podCIDRs: [10.10.0.0/16]}";
    cluster.apply(&format!(
        "{{kind: Gateway, metadata: {{name: n1, namespace: kube-system}}, gatewayIP: 172.18.0.1, internalIP: 172.18.0.1, \
         serviceCIDR: 10.96.0.0/16, {exported}}}"
    ));
    cluster.apply(&node(1, "", ""));
    cluster.settle(&election());
    let (key, gateway) = cluster.objects.all(Kind::Gateway).next().unwrap();
    assert_eq!(key.name, "n2");
    assert_eq!(
        gateway["exported"],
        json!({ "mode": "Listed", "addresses": ["10.96.0.7/32"], "podCIDRs": ["10.10.0.0/16"] })
    );
}

#[test]
fn the_gateway_stays_when_a_better_node_comes_or_it_comes_back() {
    let mut cluster = Cluster::of(&node(2, YES, ""));
    cluster.settle(&election());
    cluster.apply(&node(1, YES, ""));
    assert_eq!(cluster.settle(&election()), "");
}

#[test]
fn without_a_candidate_there_is_no_gateway() {
    let mut cluster = Cluster::of(&node(1, YES, ""));
    cluster.settle(&election());
    cluster.apply(&node(1, "", ""));
    insta::assert_snapshot!(cluster.settle(&election()), @"delete Gateway kube-system/n1");
}

#[test]
fn a_gateway_that_was_deleted_or_edited_comes_back() {
    let mut cluster = Cluster::of(&node(1, YES, ""));
    cluster.settle(&election());
    cluster.apply("{kind: Gateway, metadata: {name: n1, namespace: kube-system}, gatewayIP: 1.2.3.4, internalIP: 172.18.0.1, wireGuard: {publicKey: key}}");
    insta::assert_snapshot!(cluster.settle(&election()), @r#"
    patch Gateway kube-system/n1
      gatewayIP: "172.18.0.1"
      serviceCIDR: "10.96.0.0/16"
    "#);
    cluster.delete(Kind::Gateway, "kube-system", "n1");
    insta::assert_snapshot!(cluster.settle_briefly(&election()), @"create Gateway kube-system/n1");
}

#[test]
fn gateways_of_nobody_go_and_those_of_other_namespaces_stay() {
    let others = "{kind: Gateway, metadata: {name: n9, namespace: kube-system}}\n---\n{kind: Gateway, metadata: {name: n8, namespace: other}}";
    let mut cluster = Cluster::of(&[node(1, YES, "").as_str(), others].concat());
    insta::assert_snapshot!(cluster.settle_briefly(&election()), @"
    create Gateway kube-system/n1
    delete Gateway kube-system/n9
    ");
}

#[test]
fn a_second_gateway_that_somebody_made_goes() {
    let mut cluster = Cluster::of(&[node(1, YES, ""), node(2, YES, ""), node(3, "", "")].concat());
    cluster.settle(&election());
    for other in ["n2", "n3"] {
        cluster.apply(&format!(
            "{{kind: Gateway, metadata: {{name: {other}, namespace: kube-system}}, gatewayIP: 172.18.0.9, internalIP: 172.18.0.9}}"
        ));
        let done = cluster.settle_briefly(&election());
        assert_eq!(done, format!("delete Gateway kube-system/{other}\n"));
    }
}

#[test]
fn outside_a_cluster_set_there_is_no_gateway() {
    let mut cluster = Cluster::of(&node(1, YES, ""));
    cluster.settle(&election());
    let outside = Election { participation: Participation::None, ..election() };
    assert_eq!(cluster.settle_briefly(&outside), "delete Gateway kube-system/n1\n");
}
