//! Services that are left alone.

use antrea_agent_proxy::{ServiceName, Settings, Skipped};

use crate::cluster::{Cluster, settings};

const SERVICE: &str = "
kind: Service
metadata: {namespace: shop, name: web}
spec: {clusterIP: 10.96.0.10, ports: [{port: 80}]}";

const NOTHING: &str = "";

fn serves(settings: Settings, service: &str) -> bool {
    Cluster::with(settings).apply(service).contains("TCP")
}

#[test]
fn a_service_without_a_virtual_address_has_nothing_to_be_served() {
    assert!(serves(settings(), SERVICE));
    assert!(!serves(settings(), &SERVICE.replace("10.96.0.10", "None")), "headless");
    assert!(!serves(settings(), &SERVICE.replace("10.96.0.10", "''")), "not allocated yet");
    assert!(!serves(settings(), &SERVICE.replace("clusterIP", "type: ExternalName, clusterIP")));
}

#[test]
fn a_service_of_another_proxy_is_left_to_it() {
    let labelled = SERVICE
        .replace("name: web}", "name: web, labels: {service.kubernetes.io/service-proxy-name: other}}");
    let other = || Settings { service_proxy_name: Some("other".to_owned()), ..settings() };
    assert!(!serves(settings(), &labelled));
    assert!(serves(other(), &labelled));
    assert!(!serves(other(), SERVICE));
}

#[test]
fn a_service_can_be_skipped_by_name_and_by_address() {
    let names = [ServiceName::new("shop", "web")].into();
    assert!(!serves(Settings { skipped: Skipped { names, ..Skipped::default() }, ..settings() }, SERVICE));
    let cluster_ips = ["10.96.0.10".parse().unwrap()].into();
    assert!(!serves(
        Settings { skipped: Skipped { cluster_ips, ..Skipped::default() }, ..settings() },
        SERVICE
    ));
}

#[test]
fn a_service_that_comes_to_be_ignored_loses_what_it_had() {
    let mut cluster = Cluster::new();
    cluster.apply(SERVICE);
    assert_eq!(cluster.apply(&SERVICE.replace("10.96.0.10", "None")), "shop/web\n");
    assert_eq!(cluster.apply(&SERVICE.replace("10.96.0.10", "None")), NOTHING);
}

#[test]
fn what_does_not_change_changes_nothing() {
    let mut cluster = Cluster::new();
    cluster.apply(SERVICE);
    assert_eq!(cluster.apply(SERVICE), NOTHING);
}

#[test]
fn slices_of_other_names_and_families_are_no_endpoints() {
    let mut cluster = Cluster::new();
    cluster.apply(SERVICE);
    let slice = "
kind: EndpointSlice
metadata: {namespace: shop, name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: FQDN
ports: [{port: 8080}]
endpoints: [{addresses: [example.com]}]";
    assert_eq!(cluster.apply(slice), NOTHING);
    assert_eq!(cluster.apply(&slice.replace("FQDN", "IPv4")).lines().last(), Some("  group 5: none"));
}
