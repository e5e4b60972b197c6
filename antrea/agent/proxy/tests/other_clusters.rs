//! Services whose clients may be in other clusters: those have no Node of their own, so they get endpoints of all Nodes whatever
//! `internalTrafficPolicy` says.

use antrea_agent_proxy::{OtherClusters, Settings};

use crate::cluster::{Cluster, settings};

const LOCAL: &str = "
kind: Service
metadata: {namespace: shop, name: web}
spec: {clusterIP: 10.96.0.10, internalTrafficPolicy: Local, ports: [{port: 80}]}
---
kind: EndpointSlice
metadata: {namespace: shop, name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.10.1.2], nodeName: n2}, {addresses: [10.10.2.2], nodeName: n3}]";

/// What Multi-cluster makes of Service `web`, which this cluster exports, too.
const DERIVED: &str = "
kind: Service
metadata: {namespace: shop, name: antrea-mc-web}
spec: {clusterIP: 10.96.0.20, internalTrafficPolicy: Cluster, ports: [{port: 80}]}
---
kind: EndpointSlice
metadata: {namespace: shop, name: mc-1, labels: {kubernetes.io/service-name: antrea-mc-web}}
addressType: IPv4
ports: [{port: 80}]
endpoints: [{addresses: [10.96.0.10]}, {addresses: [10.112.0.10]}]";

/// The proxy of a Node that may become the Gateway.
fn with_other_clusters() -> Cluster {
    Cluster::with(Settings { other_clusters: OtherClusters::On, ..settings() })
}

#[test]
fn clients_of_other_clusters_get_endpoints_of_all_nodes() {
    insta::assert_snapshot!(with_other_clusters().apply(LOCAL), @"
    shop/web
      TCP 10.96.0.10:80 -> 6, other clusters 5
      group 5: 10.10.1.2:8080 remote, 10.10.2.2:8080 remote
      group 6: none
    ");
    insta::assert_snapshot!(Cluster::new().apply(LOCAL), @"
    shop/web
      TCP 10.96.0.10:80 -> 5
      group 5: none
    ");
}

#[test]
fn a_service_of_the_policy_cluster_needs_no_second_group() {
    insta::assert_snapshot!(with_other_clusters().apply(&LOCAL.replace("Local", "Cluster")), @"
    shop/web
      TCP 10.96.0.10:80 -> 5
      group 5: 10.10.1.2:8080 remote, 10.10.2.2:8080 remote
    ");
}

#[test]
fn an_endpoint_that_is_a_service_of_local_policy_leads_to_all_of_its_endpoints() {
    let objects = format!("{DERIVED}\n---{LOCAL}");
    insta::assert_snapshot!(with_other_clusters().apply(&objects), @"
    shop/web
      TCP 10.96.0.10:80 -> 6, other clusters 5
      group 5: 10.10.1.2:8080 remote, 10.10.2.2:8080 remote
      group 6: none

    shop/antrea-mc-web
      TCP 10.96.0.20:80 -> 7
      group 7: 10.96.0.10:80 remote, 10.112.0.10:80 remote
      10.96.0.10:80 is group 5
    ");
    let without = Cluster::new().apply(&objects);
    assert!(
        without.contains("group 5: none\n") && without.contains("10.96.0.10:80 is group 5\n"),
        "{without}"
    );
}
