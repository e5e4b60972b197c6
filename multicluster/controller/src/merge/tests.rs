//! Files in, the printed answer out.

use std::fmt::Write;

use super::*;

fn printed(text: &str) -> String {
    let mut objects = Objects::default();
    objects.read(text).unwrap();
    let mut answer = print::print(objects.clone(), Timestamp::UNIX_EPOCH).unwrap();
    for ignored in &objects.ignored {
        writeln!(answer, "# left out: {ignored}").unwrap();
    }
    answer
}

/// The export of Service `shop/web`, in the Common Area `area`, by `cluster` since a day of November.
fn service(cluster: &str, day: u8, spec: &str) -> String {
    format!(
        "
---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: ResourceExport
metadata: {{name: {cluster}-shop-web-service, namespace: area}}
spec:
  clusterID: {cluster}
  kind: Service
  name: web
  namespace: shop
  service:
    origin: {{creationTimestamp: '2026-11-{day:02}T09:00:00Z'}}
    serviceSpec: {spec}
"
    )
}

fn endpoints(cluster: &str, address: &str) -> String {
    format!(
        "
---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: ResourceExport
metadata: {{name: {cluster}-shop-web-endpoints, namespace: area}}
spec:
  clusterID: {cluster}
  kind: Endpoints
  name: web
  namespace: shop
  endpoints: {{subsets: [{{addresses: [{{ip: {address}}}], ports: [{{name: http, port: 80, protocol: TCP}}]}}]}}
"
    )
}

#[test]
fn exports_that_agree_become_one_import() {
    let http = "{ports: [{name: http, port: 80, protocol: TCP}]}";
    let text = service("east", 2, http)
        + &service("west", 1, http)
        + &endpoints("east", "10.96.0.7")
        + &endpoints("west", "10.112.0.7");
    insta::assert_snapshot!(printed(&text));
}

#[test]
fn the_oldest_export_wins_and_both_exporters_are_told() {
    let text =
        service("east", 2, "{sessionAffinity: ClientIP, ports: [{name: http, port: 80, protocol: TCP}]}")
            + &service(
                "west",
                1,
                "{sessionAffinity: None, ports: [{name: http, port: 8080, protocol: TCP}]}",
            );
    insta::assert_snapshot!(printed(&text));
}

#[test]
fn lists_and_announces_are_read_and_other_kinds_are_left_out() {
    let announce = "
apiVersion: v1
kind: List
items:
- apiVersion: multicluster.crd.antrea.io/v1alpha1
  kind: MemberClusterAnnounce
  metadata: {name: member-announce-from-east, namespace: area}
  clusterID: east
  serviceCIDRs: [10.96.0.0/12]
- apiVersion: v1
  kind: Secret
  metadata: {name: token}
";
    let http = "{ports: [{name: http, port: 80, protocol: TCP}]}";
    let text = announce.to_owned() + &service("east", 2, http) + &endpoints("east", "10.112.0.7");
    insta::assert_snapshot!(printed(&text));
}

#[test]
fn a_policy_is_replicated_and_an_export_of_nothing_is_told_so() {
    insta::assert_snapshot!(printed(
        "
kind: ResourceExport
metadata: {name: strict, namespace: area}
spec: {kind: AntreaClusterNetworkPolicy, name: strict, clusterNetworkPolicy: {priority: 1, tier: securityops}}
---
kind: ResourceExport
metadata: {name: empty, namespace: area}
spec: {clusterID: east, kind: Service, namespace: shop, name: web}
"
    ));
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = Objects::default().read(text).unwrap_err();
    assert_eq!(format!("{error:#}"), expected);
}

#[test]
fn what_cannot_be_read_is_named() {
    refused("metadata: {name: a}", "there is an object without a kind");
    refused("kind: ResourceExport", "there is a ResourceExport without metadata.name");
    refused(
        "kind: ResourceExport\nmetadata: {name: a}\nspec: 5",
        "ResourceExport a: invalid type: integer `5`, expected struct ResourceExportSpec",
    );
}
