//! Which endpoints get connections.

use antrea_agent_proxy::{NodeHints, Settings};

use crate::cluster::{Cluster, settings};

const SERVICE: &str = "
kind: Service
metadata: {namespace: shop, name: web}
spec: {clusterIP: 10.96.0.10, ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}]}";

/// An EndpointSlice whose endpoints are the lines of `endpoints`.
fn slice(endpoints: &str) -> String {
    format!(
        "kind: EndpointSlice
metadata: {{namespace: shop, name: web-1, labels: {{kubernetes.io/service-name: web}}}}
addressType: IPv4
ports: [{{name: http, port: 8080, protocol: TCP}}]
endpoints:
{endpoints}"
    )
}

/// The endpoints of the Service's ClusterIP.
fn check_with(cluster: &mut Cluster, endpoints: &str, expect: &str) {
    cluster.apply(SERVICE);
    let text = cluster.apply(&slice(endpoints));
    let group = text.lines().find(|line| line.starts_with("  group")).unwrap();
    let (_, endpoints) = group.split_once(": ").unwrap();
    assert_eq!(endpoints.replace(":8080", "").replace(" remote", ""), expect, "{text}");
}

#[track_caller]
fn check(endpoints: &str, expect: &str) {
    check_with(&mut Cluster::new(), endpoints, expect);
}

#[test]
fn a_service_has_a_group_for_each_port() {
    let mut cluster = Cluster::new();
    cluster.apply(SERVICE);
    insta::assert_snapshot!(cluster.apply(&slice("- {addresses: [10.10.0.2], nodeName: n1}\n- {addresses: [10.10.1.2], nodeName: n2}")), @"
    shop/web
      TCP 10.96.0.10:80 -> 5
      UDP 10.96.0.10:53 -> 6
      group 5: 10.10.0.2:8080, 10.10.1.2:8080 remote
      group 6: none
    ");
}

#[test]
fn endpoints_of_several_slices_come_together() {
    let mut cluster = Cluster::new();
    cluster.apply(SERVICE);
    cluster.apply(&slice("- {addresses: [10.10.0.2]}"));
    let second = slice("- {addresses: [10.10.0.1]}\n- {addresses: [10.10.0.2]}").replace("web-1", "web-2");
    insta::assert_snapshot!(cluster.apply(&second), @"
    shop/web
      TCP 10.96.0.10:80 -> 5
      UDP 10.96.0.10:53 -> 6
      group 5: 10.10.0.1:8080 remote, 10.10.0.2:8080 remote
      group 6: none
    ");
}

#[test]
fn an_endpoint_gets_connections_unless_it_says_that_it_is_not_ready() {
    check("- {addresses: [10.10.0.1]}", "10.10.0.1");
    check("- {addresses: [10.10.0.1], conditions: {}}", "10.10.0.1");
    check("- {addresses: [10.10.0.1], conditions: {ready: false}}", "none");
    check("- {addresses: [10.10.0.1], conditions: {ready: false, serving: true}}", "none");
}

#[test]
fn those_that_terminate_serve_only_where_nothing_is_ready() {
    let terminating =
        "- {addresses: [10.10.0.1], conditions: {ready: false, serving: true, terminating: true}}";
    check(terminating, "10.10.0.1");
    check(&format!("{terminating}\n- {{addresses: [10.10.0.2]}}"), "10.10.0.2");
    check(
        "- {addresses: [10.10.0.1], conditions: {ready: false, serving: false, terminating: true}}",
        "none",
    );
}

#[test]
fn of_an_endpoint_in_two_slices_the_ready_one_counts() {
    let mut cluster = Cluster::new();
    cluster.apply(SERVICE);
    let terminating =
        "- {addresses: [10.10.0.1], conditions: {ready: false, serving: true, terminating: true}}";
    cluster.apply(&slice(terminating));
    let ready = slice("- {addresses: [10.10.0.1]}").replace("web-1", "web-2");
    let text = cluster.apply(&ready);
    assert!(text.contains("group 5: 10.10.0.1:8080 remote\n"), "{text}");
}

fn in_zone(zone: &str, settings: Settings) -> Cluster {
    let mut cluster = Cluster::with(settings);
    cluster.proxy.set_zone(Some(zone));
    cluster
}

#[test]
fn hints_keep_connections_in_the_zone() {
    let hinted = "- {addresses: [10.10.0.1], hints: {forZones: [{name: a}]}}\n- {addresses: [10.10.0.2], hints: {forZones: [{name: b}]}}";
    check_with(&mut in_zone("a", settings()), hinted, "10.10.0.1");
    check_with(&mut in_zone("b", settings()), hinted, "10.10.0.2");
    check_with(&mut in_zone("c", settings()), hinted, "10.10.0.1, 10.10.0.2");
    check(hinted, "10.10.0.1, 10.10.0.2");
}

#[test]
fn hints_count_only_where_all_ready_endpoints_have_them() {
    let some = "- {addresses: [10.10.0.1], hints: {forZones: [{name: a}]}}\n- {addresses: [10.10.0.2]}";
    check_with(&mut in_zone("a", settings()), some, "10.10.0.1, 10.10.0.2");
    let unready = "- {addresses: [10.10.0.1], hints: {forZones: [{name: a}]}}\n- {addresses: [10.10.0.2], conditions: {ready: false}}";
    check_with(&mut in_zone("a", settings()), unready, "10.10.0.1");
}

#[test]
fn hints_for_nodes_go_before_those_for_zones_where_they_are_honoured() {
    let hinted = "- {addresses: [10.10.0.1], hints: {forZones: [{name: a}], forNodes: [{name: n1}]}}\n- {addresses: [10.10.0.2], hints: {forZones: [{name: a}], forNodes: [{name: n2}]}}";
    check_with(&mut in_zone("a", settings()), hinted, "10.10.0.1");
    let ignored = Settings { node_hints: NodeHints::Ignored, ..settings() };
    check_with(&mut in_zone("a", ignored), hinted, "10.10.0.1, 10.10.0.2");
}

#[test]
fn another_zone_of_the_node_plans_everything_anew() {
    let mut cluster = in_zone("a", settings());
    let hinted = "- {addresses: [10.10.0.1], hints: {forZones: [{name: a}]}}\n- {addresses: [10.10.0.2], hints: {forZones: [{name: b}]}}";
    check_with(&mut cluster, hinted, "10.10.0.1");
    cluster.proxy.set_zone(Some("b"));
    let text = cluster.changes();
    assert!(text.contains("group 5: 10.10.0.2:8080 remote\n"), "{text}");
}

#[test]
fn addresses_that_packets_are_never_sent_to_are_told_of() {
    let mut cluster = Cluster::new();
    cluster.apply(SERVICE);
    insta::assert_snapshot!(cluster.apply(&slice("- {addresses: [127.0.0.1]}\n- {addresses: [169.254.1.1]}\n- {addresses: [224.0.0.1]}\n- {addresses: [192.0.2.1]}")), @"
    shop/web
      TCP 10.96.0.10:80 -> 5
      UDP 10.96.0.10:53 -> 6
      group 5: 192.0.2.1:8080 remote
      group 6: none
      EndpointAddressRefused: endpoint 127.0.0.1 gets no connections: it is a loopback, link-local, multicast or unspecified address
      EndpointAddressRefused: endpoint 169.254.1.1 gets no connections: it is a loopback, link-local, multicast or unspecified address
      EndpointAddressRefused: endpoint 224.0.0.1 gets no connections: it is a loopback, link-local, multicast or unspecified address
    ");
}

#[test]
fn internal_traffic_may_have_to_stay_on_the_node() {
    let mut cluster = Cluster::new();
    cluster.apply(&SERVICE.replace("ports:", "internalTrafficPolicy: Local, ports:"));
    insta::assert_snapshot!(cluster.apply(&slice("- {addresses: [10.10.0.2], nodeName: n1}\n- {addresses: [172.18.0.1]}\n- {addresses: [10.10.1.2], nodeName: n2}")), @"
    shop/web
      TCP 10.96.0.10:80 -> 5
      UDP 10.96.0.10:53 -> 6
      group 5: 10.10.0.2:8080, 172.18.0.1:8080
      group 6: none
    ");
}

#[test]
fn a_group_has_4000_endpoints_at_most_and_users_are_told() {
    let mut cluster = Cluster::new();
    cluster.apply(SERVICE);
    let endpoints: Vec<String> =
        (0..4001).map(|n| format!("- {{addresses: [10.10.{}.{}]}}", n / 250, n % 250 + 1)).collect();
    let text = cluster.apply(&slice(&endpoints.join("\n")));
    assert_eq!(text.matches(":8080").count(), 4000);
    assert!(text.ends_with("  TooManyEndpoints: a port has 4001 endpoints, of which only the first 4000 by address get connections\n"));
}
