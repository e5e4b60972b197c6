//! EndpointSlices of imported Services with many Pods: what changes in them when Pods come and go.

use std::collections::BTreeMap;

use antrea_kit::watch::WatchEvent;
use antrea_mc_member::kind::Kind;
use antrea_mc_member::objects::{Key, text};
use serde_json::{Value, json};

use crate::imports::{NAMESPACE, SERVICE, importer, objects, web};
use crate::objects::Cluster;

/// The endpoints of a headless Service with these Pods, behind a port.
fn endpoints(port: u16, pods: impl IntoIterator<Item = u32>) -> String {
    let address = |pod: u32| format!("{{addresses: [10.10.{}.{}]}}", pod >> 8, pod & 255);
    let pods: Vec<String> = pods.into_iter().map(address).collect();
    format!(
        "
kind: ResourceImport
metadata: {{name: shop-web-endpoints, namespace: area}}
spec:
  kind: Endpoints
  namespace: shop
  name: web
  endpoints:
    clusters:
    - clusterID: east
      endpointSlices:
      - addressType: IPv4
        ports: [{{name: http, port: {port}, protocol: TCP}}]
        endpoints: [{}]",
        pods.join(", ")
    )
}

fn imported(pods: impl IntoIterator<Item = u32>) -> Cluster {
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, SERVICE, &endpoints(80, pods)]));
    cluster.settle(&importer());
    cluster
}

/// How many slices are created, patched and deleted when the endpoints become these.
fn changes(cluster: &mut Cluster, endpoints: &str) -> String {
    cluster.apply(endpoints);
    let log = cluster.settle_briefly(&importer());
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for line in log.lines() {
        let (request, _) = line.split_once(" EndpointSlice ").expect(line);
        *counts.entry(request).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(request, count)| format!("{count} {request}")).collect();
    counts.join(", ")
}

/// The addresses of the slices, and how many slices there are.
fn addresses(cluster: &Cluster) -> (Vec<String>, usize) {
    let slices: Vec<&Value> = cluster.objects.all(Kind::EndpointSlice).map(|(_, slice)| slice).collect();
    let endpoints = slices.iter().flat_map(|slice| slice["endpoints"].as_array().unwrap());
    let mut addresses: Vec<String> =
        endpoints.map(|endpoint| text(endpoint, "/addresses/0").to_owned()).collect();
    addresses.sort();
    (addresses, slices.len())
}

#[test]
fn one_pod_more_is_one_slice_changed() {
    let mut cluster = imported(1..3000);
    let without = |pod: u32| (0..3000).filter(move |other| *other != pod);
    assert_eq!(changes(&mut cluster, &endpoints(80, 0..3000)), "1 patch");
    assert_eq!(changes(&mut cluster, &endpoints(80, without(1500))), "1 patch");
    assert_eq!(changes(&mut cluster, &endpoints(80, 0..3000)), "1 patch");
    assert_eq!(changes(&mut cluster, &endpoints(80, 0..3001)), "1 create");
    assert_eq!(changes(&mut cluster, &endpoints(80, 4000..7001)), "31 patch");
    let (addresses, slices) = addresses(&cluster);
    assert_eq!((addresses.len(), slices), (3001, 31));
    assert_eq!(addresses.first().map(String::as_str), Some("10.10.15.160"));
}

#[test]
fn slices_that_are_nearly_empty_are_joined() {
    let mut cluster = imported(0..3000);
    assert_eq!(changes(&mut cluster, &endpoints(80, (0..3000).step_by(60))), "29 delete, 1 patch");
    assert_eq!(addresses(&cluster).1, 1);
}

#[test]
fn ports_that_change_leave_endpoints_where_they_are() {
    let mut cluster = imported(0..300);
    let before = addresses(&cluster);
    assert_eq!(changes(&mut cluster, &endpoints(8080, 0..300)), "3 patch");
    assert_eq!(addresses(&cluster), before);
}

/// Somebody changes a label of the only slice of `east`.
fn relabelled(name: &str, value: &str) -> String {
    let mut cluster = web();
    let key = Key::new(Kind::EndpointSlice, "shop", "antrea-mc-web-69c53c1a2b719824");
    let before = addresses(&cluster);
    let mut slice = cluster.objects.get(&key).unwrap().clone();
    slice["metadata"]["labels"][name] = json!(value);
    cluster.objects.learn(Kind::EndpointSlice, WatchEvent::Applied(slice));
    let log = cluster.settle_briefly(&importer());
    assert_eq!(addresses(&cluster), before);
    log
}

#[test]
fn a_slice_whose_labels_were_edited_is_mended_or_replaced() {
    for label in ["kubernetes.io/service-name", "multicluster.kubernetes.io/service-name"] {
        let log = relabelled(label, "other");
        assert_eq!(log, "patch EndpointSlice shop/antrea-mc-web-69c53c1a2b719824\n", "{label}");
    }
    let log = relabelled("multicluster.kubernetes.io/source-cluster", "moon");
    let (created, deleted) = log.split_once('\n').unwrap();
    assert!(created.starts_with("create EndpointSlice shop/antrea-mc-web-"), "{log}");
    assert_eq!(deleted, "delete EndpointSlice shop/antrea-mc-web-69c53c1a2b719824\n");
}
