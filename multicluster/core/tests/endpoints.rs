//! Endpoints of a Service in several clusters.

use crate::area::{Area, endpoints, service, service_cidrs, upstream_service};

const HTTP: &str = "ports: [{name: http, port: 80, protocol: TCP}]";
const IP: &str = "type: ClusterSetIP";

fn subset(ip: &str, port: u16) -> String {
    format!("subsets: [{{addresses: [{{ip: {ip}}}], ports: [{{name: http, port: {port}, protocol: TCP}}]}}]")
}

/// Two clusters, and what is imported for their endpoints.
fn two() -> Area {
    Area::of(&[
        service("east", 1, HTTP, IP),
        service("west", 2, HTTP, IP),
        endpoints("east", &subset("10.96.2.22", 80)),
        endpoints("west", &subset("10.11.12.33", 80)),
    ])
}

/// The part of the text about endpoints.
fn text(area: &Area) -> String {
    let text = area.text();
    text[text.find("shop-web-endpoints").unwrap_or(text.len())..].to_owned()
}

#[test]
fn endpoints_are_kept_by_cluster_and_flat() {
    insta::assert_snapshot!(text(&two()), @"
    shop-web-endpoints Endpoints shop/web
      endpoints.subsets: {addresses: [{ip: 10.11.12.33}, {ip: 10.96.2.22}], ports: [{name: http, port: 80, protocol: TCP}]}
      endpoints.clusters: {clusterID: east, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.96.2.22]}]}]}
      endpoints.clusters: {clusterID: west, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.11.12.33]}]}]}
      east-shop-web-endpoints taken
      west-shop-web-endpoints taken
    ");
}

#[test]
fn a_cluster_whose_lease_is_over_has_none() {
    let mut area = two();
    area.withdrawn.insert("east".parse().unwrap());
    insta::assert_snapshot!(text(&area), @"
    shop-web-endpoints Endpoints shop/web
      endpoints.subsets: {addresses: [{ip: 10.11.12.33}], ports: [{name: http, port: 80, protocol: TCP}]}
      endpoints.clusters: {clusterID: west, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.11.12.33]}]}]}
      east-shop-web-endpoints taken
      west-shop-web-endpoints taken
    ");
    area.withdrawn.insert("west".parse().unwrap());
    insta::assert_snapshot!(text(&area), @"
    shop-web-endpoints Endpoints shop/web
      east-shop-web-endpoints taken
      west-shop-web-endpoints taken
    ");
}

#[test]
fn connections_go_only_to_clusters_that_have_the_port() {
    let ports = "ports: [{name: http, port: 8080, protocol: TCP}, {name: https, port: 443, protocol: TCP}]";
    let both = "subsets: [{addresses: [{ip: 10.11.12.33}], ports: [{name: http, port: 8080}, {name: https, port: 443}]}]";
    insta::assert_snapshot!(text(&Area::of(&[
        service("east", 1, HTTP, IP),
        service("west", 2, ports, IP),
        endpoints("east", &subset("10.96.2.22", 80)),
        endpoints("west", both),
    ])), @"
    shop-web-endpoints Endpoints shop/web
      endpoints.subsets: {addresses: [{ip: 10.96.2.22}], ports: [{name: http, port: 80, protocol: TCP}]}
      endpoints.subsets: {addresses: [{ip: 10.11.12.33}], ports: [{name: https, port: 443, protocol: TCP}]}
      endpoints.clusters: {clusterID: east, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.96.2.22]}]}]}
      endpoints.clusters: {clusterID: west, endpointSlices: [{addressType: IPv4, ports: [{name: https, port: 443, protocol: TCP}], endpoints: [{addresses: [10.11.12.33]}]}]}
      east-shop-web-endpoints taken
      west-shop-web-endpoints taken
    ");
}

#[test]
fn an_upstream_member_that_is_left_out_has_no_endpoints_left_behind() {
    let mut area = Area::of(&[
        upstream_service("east", 1, "[{name: http, port: 80, protocol: TCP}]"),
        upstream_service("west", 2, "[{name: http, port: 80, protocol: TCP}]"),
        endpoints("east", &subset("10.96.2.22", 80)),
        endpoints("west", &subset("10.11.12.33", 80)),
    ]);
    area.apply(&upstream_service("west", 2, "[{name: http, port: 81, protocol: TCP}]"));
    insta::assert_snapshot!(text(&area), @"
    shop-web-endpoints Endpoints shop/web
      endpoints.subsets: {addresses: [{ip: 10.96.2.22}], ports: [{name: http, port: 80, protocol: TCP}]}
      endpoints.clusters: {clusterID: east, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.96.2.22]}]}]}
      east-shop-web-endpoints taken
      west-shop-web-endpoints refused: the export of cluster west is left out: its ports differ from those of cluster east, whose export is older
    ");
    area.delete("east-shop-web-service");
    area.apply(&endpoints("west", &subset("10.11.12.33", 81)));
    insta::assert_snapshot!(area.text(), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 81}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: west}
      west-shop-web-service taken
    shop-web-endpoints Endpoints shop/web
      endpoints.subsets: {addresses: [{ip: 10.11.12.33}], ports: [{name: http, port: 81, protocol: TCP}]}
      endpoints.clusters: {clusterID: west, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 81, protocol: TCP}], endpoints: [{addresses: [10.11.12.33]}]}]}
      east-shop-web-endpoints refused: cluster east has no ResourceExport of the Service, or a useless one
      west-shop-web-endpoints taken
    ");
}

#[test]
fn subsets_that_repeat_themselves_are_one() {
    let subset = |last: u8| {
        let ips: Vec<String> = (1..=last).map(|last| format!("{{ip: 10.10.0.{last}}}")).collect();
        format!("{{addresses: [{}], ports: [{{name: http, port: 8080}}]}}", ips.join(", "))
    };
    let grown: Vec<String> = (1..=4).map(subset).collect();
    let area = Area::of(&[
        upstream_service("east", 1, "[{name: http, port: 80}]"),
        endpoints("east", &format!("subsets: [{}]", grown.join(", "))),
    ]);
    insta::assert_snapshot!(text(&area), @"
    shop-web-endpoints Endpoints shop/web
      endpoints.subsets: {addresses: [{ip: 10.10.0.1}, {ip: 10.10.0.2}, {ip: 10.10.0.3}, {ip: 10.10.0.4}], ports: [{name: http, port: 8080, protocol: TCP}]}
      endpoints.clusters: {clusterID: east, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 8080, protocol: TCP}], endpoints: [{addresses: [10.10.0.1]}, {addresses: [10.10.0.2]}, {addresses: [10.10.0.3]}, {addresses: [10.10.0.4]}]}]}
      east-shop-web-endpoints taken
    ");
}

#[test]
fn slices_carry_families_hostnames_and_states() {
    let slices = "endpointSlices: [
  {addressType: IPv6, endpoints: [{addresses: ['fd00::1'], hostname: web-0}]},
  {addressType: IPv4, endpoints: [{addresses: [10.10.0.2], hostname: web-1, zone: a}, {addresses: [10.10.0.1], conditions: {ready: false, serving: true, terminating: true}}, {addresses: [10.10.0.3], conditions: {ready: false}}]}]";
    let area = Area::of(&[service("east", 1, "", "type: Headless"), endpoints("east", slices)]);
    insta::assert_snapshot!(text(&area), @"
    shop-web-endpoints Endpoints shop/web
      endpoints.subsets: {addresses: [{ip: 10.10.0.2}]}
      endpoints.clusters: {clusterID: east, endpointSlices: [{addressType: IPv4, endpoints: [{addresses: [10.10.0.1], conditions: {ready: false, serving: true, terminating: true}}, {addresses: [10.10.0.2], hostname: web-1, zone: a}]}, {addressType: IPv6, endpoints: [{addresses: [fd00: : 1], hostname: web-0}]}]}
      east-shop-web-endpoints taken
    ");
}

#[test]
fn endpoints_of_no_exported_service_are_refused() {
    insta::assert_snapshot!(Area::of(&[endpoints("east", &subset("10.96.2.22", 80))]).text(), @"
    no shop-web-endpoints
      east-shop-web-endpoints refused: cluster east has no ResourceExport of the Service, or a useless one
    ");
}

#[test]
fn a_cluster_exports_its_own_addresses_only() {
    let mut area = two();
    area.claims = service_cidrs(&[("east", "10.96.0.0/16"), ("north", "10.11.0.0/16")]);
    area.apply(&endpoints("east", &subset("10.97.0.1", 80)));
    insta::assert_snapshot!(text(&area), @"
    shop-web-endpoints Endpoints shop/web
      east-shop-web-endpoints taken
        without 10.97.0.1 is in no network that cluster east has announced
      west-shop-web-endpoints taken
        without 10.11.12.33 is in Service CIDR 10.11.0.0/16 of cluster north
    ");
}

#[test]
fn addresses_that_make_no_sense_are_left_out() {
    let mut area = two();
    area.apply(&endpoints("east", &subset("127.0.0.1", 80)));
    area.apply(&endpoints("west", &subset("web.example", 80)));
    insta::assert_snapshot!(text(&area), @r#"
    shop-web-endpoints Endpoints shop/web
      east-shop-web-endpoints taken
        without 127.0.0.1 is a loopback, link-local, multicast or reserved address
      west-shop-web-endpoints taken
        without spec.endpoints.subsets[0].addresses[0].ip: "web.example" is no IP address
    "#);
}

#[test]
fn of_too_many_ports_and_endpoints_the_first_count_and_the_exporter_is_told() {
    let ports: Vec<String> = (1..=1001).map(|port| format!("{{name: p{port}, port: {port}}}")).collect();
    let ports = format!("[{}]", ports.join(", "));
    let text = Area::of(&[service("east", 1, &format!("ports: {ports}"), "type: ClusterSetIP")]).text();
    assert_eq!(text.matches("serviceImport.spec.ports:").count(), 1000);
    assert!(
        text.contains("without spec.service.serviceSpec.ports: there are 1001: the first 1000 count"),
        "{text}"
    );
    let addresses: Vec<String> =
        (0..20_001).map(|number| format!("{{ip: 10.{}.{}.1}}", number / 250, number % 250)).collect();
    let subset = format!("subsets: [{{addresses: [{}], ports: {ports}}}]", addresses.join(", "));
    let http = "[{name: p1, port: 1}]";
    let text = Area::of(&[upstream_service("east", 1, http), endpoints("east", &subset)]).text();
    assert_eq!(text.matches("{addresses: [10.").count(), 20, "each has a thousand ports");
    for left_out in [
        "without spec.endpoints.subsets[0].ports: there are 1001: the first 1000 count",
        "without spec.endpoints: there are more than 20000 endpoints times ports, of which the first count",
    ] {
        assert!(text.contains(left_out), "{left_out}");
    }
    let subset = format!("subsets: [{{addresses: [{}], ports: {http}}}]", addresses.join(", "));
    let text = Area::of(&[upstream_service("east", 1, http), endpoints("east", &subset)]).text();
    assert_eq!(text.matches("{addresses: [10.").count(), 20_000);
}

#[test]
fn of_too_many_lists_of_ports_the_first_count_and_the_exporter_is_told() {
    let slice = |number: usize, address: &str| {
        let ports = format!("[{{name: http, port: {}}}]", 8_000 + number);
        format!("{{addressType: IPv4, ports: {ports}, endpoints: [{{addresses: [{address}]}}]}}")
    };
    let told = "without spec.endpoints: there are more than 100 lists of ports, of which the first count";
    let check = |lists: usize, imported: usize, is_told: usize| {
        let lists = (0..lists).map(|number| slice(number, &format!("10.10.{number}.1")));
        let slices: Vec<String> = lists.chain([slice(0, "10.11.0.1")]).collect();
        let slices = format!("endpointSlices: [{}]", slices.join(", "));
        let web = upstream_service("east", 1, "[{name: http, port: 80}]");
        let text = Area::of(&[web, endpoints("east", &slices)]).text();
        assert_eq!(text.matches("{addresses: [10.").count(), imported);
        assert_eq!(text.matches(told).count(), is_told, "{text}");
    };
    check(100, 101, 0);
    check(103, 101, 1);
}
