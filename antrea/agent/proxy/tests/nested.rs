//! Endpoints that are ClusterIPs of other Services, as those of Multi-cluster are.

use crate::cluster::Cluster;

const OUTER: &str = "
kind: Service
metadata: {namespace: shop, name: antrea-mc-web}
spec: {clusterIP: 10.96.0.20, ports: [{port: 80}]}
---
kind: EndpointSlice
metadata: {namespace: shop, name: mc-1, labels: {kubernetes.io/service-name: antrea-mc-web}}
addressType: IPv4
ports: [{port: 80}]
endpoints: [{addresses: [10.96.0.10]}, {addresses: [10.112.0.10]}]";

const INNER: &str = "
kind: Service
metadata: {namespace: shop, name: web}
spec: {clusterIP: 10.96.0.10, ports: [{port: 80}]}
---
kind: EndpointSlice
metadata: {namespace: shop, name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.10.0.2], nodeName: n1}]";

#[test]
fn an_endpoint_that_is_a_service_leads_to_its_endpoints() {
    let mut cluster = Cluster::new();
    insta::assert_snapshot!(cluster.apply(&format!("{OUTER}\n---{INNER}")), @"
    shop/web
      TCP 10.96.0.10:80 -> 5
      group 5: 10.10.0.2:8080

    shop/antrea-mc-web
      TCP 10.96.0.20:80 -> 6
      group 6: 10.96.0.10:80 remote, 10.112.0.10:80 remote
      10.96.0.10:80 is group 5
    ");
}

#[test]
fn it_follows_the_service_as_that_comes_and_goes() {
    let mut cluster = Cluster::new();
    insta::assert_snapshot!(cluster.apply(OUTER), @"
    shop/antrea-mc-web
      TCP 10.96.0.20:80 -> 5
      group 5: 10.96.0.10:80 remote, 10.112.0.10:80 remote
    ");
    insta::assert_snapshot!(cluster.apply(INNER), @"
    shop/web
      TCP 10.96.0.10:80 -> 6
      group 6: 10.10.0.2:8080

    shop/antrea-mc-web
      TCP 10.96.0.20:80 -> 5
      group 5: 10.96.0.10:80 remote, 10.112.0.10:80 remote
      10.96.0.10:80 is group 6
    ");
    insta::assert_snapshot!(cluster.delete(INNER), @"
    shop/web

    shop/antrea-mc-web
      TCP 10.96.0.20:80 -> 5
      group 5: 10.96.0.10:80 remote, 10.112.0.10:80 remote
    ");
}
