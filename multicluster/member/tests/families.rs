//! The addresses of an imported Service: those of its families that the cluster has, in the Service's order.

use antrea_mc_member::import::Importer;
use antrea_mc_member::kind::Kind;
use antrea_mc_member::objects::Key;
use antrea_types::IpFamily::{self, V4, V6};
use serde_json::json;

use crate::imports::importer;
use crate::objects::Cluster;

/// Imports a Service of some families into a cluster of others: the addresses of the ServiceImport.
fn check(of_service: &[IpFamily], of_cluster: &[IpFamily], expected: &[&str]) {
    let importer = Importer { families: of_cluster.to_vec(), ..importer() };
    let mut cluster = Cluster::of(&format!(
        "
kind: Namespace
metadata: {{name: shop}}
---
kind: ResourceImport
metadata: {{name: shop-web-service, namespace: area}}
spec:
  kind: ServiceImport
  namespace: shop
  name: web
  serviceImport:
    spec: {{type: ClusterSetIP, ports: [{{port: 80}}], ipFamilies: {}}}",
        json!(of_service)
    ));
    cluster.settle(&importer);
    let key = Key::new(Kind::ServiceImport, "shop", "web");
    let spec = &cluster.objects.get(&key).unwrap()["spec"];
    assert_eq!(spec["ips"], json!(expected), "{of_service:?} into {of_cluster:?}");
    assert_eq!(spec["ipFamilies"], json!(of_service), "{of_service:?} into {of_cluster:?}");
}

#[test]
fn an_import_has_one_address_a_family_in_the_order_of_the_service() {
    let (v4, v6) = ("10.96.0.1", "fd00:96::1");
    for own in [[V4, V6], [V6, V4]] {
        check(&[V6, V4], &own, &[v6, v4]);
        check(&[V4, V6], &own, &[v4, v6]);
        check(&[V6], &own, &[v6]);
        check(&[V4], &own, &[v4]);
    }
}

#[test]
fn an_import_has_no_address_of_a_family_that_the_cluster_lacks() {
    check(&[V6, V4], &[V4], &["10.96.0.1"]);
    check(&[V4, V6], &[V6], &["fd00:96::1"]);
    check(&[V6], &[V4], &[]);
}
