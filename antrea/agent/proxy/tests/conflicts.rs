//! Services that ask for the same address and port.

use crate::cluster::Cluster;

fn service(name: &str, created: &str, ip: &str) -> String {
    format!(
        "
kind: Service
metadata: {{namespace: shop, name: {name}, creationTimestamp: '{created}'}}
spec: {{clusterIP: {ip}, externalIPs: [192.0.2.80], ports: [{{port: 80}}]}}"
    )
}

#[test]
fn the_older_of_two_has_an_external_ip_and_the_younger_gets_it_when_that_one_goes() {
    let mut cluster = Cluster::new();
    let old = service("old", "2026-01-01T00:00:00Z", "10.96.0.1");
    let young = service("young", "2026-02-01T00:00:00Z", "10.96.0.2");
    cluster.apply(&young);
    insta::assert_snapshot!(cluster.apply(&old), @"
    shop/old
      TCP 10.96.0.1:80 -> 6
      TCP 192.0.2.80:80 -> 6
      group 6: none

    shop/young
      TCP 10.96.0.2:80 -> 5
      group 5: none
      ServiceAddressTaken: TCP 192.0.2.80:80 is served for Service shop/old, which had it first
    ");
    insta::assert_snapshot!(cluster.delete(&old), @"
    shop/old

    shop/young
      TCP 10.96.0.2:80 -> 5
      TCP 192.0.2.80:80 -> 5
      group 5: none
    ");
}

#[test]
fn nobody_takes_the_cluster_ip_of_another() {
    let mut cluster = Cluster::new();
    let thief = service("thief", "2020-01-01T00:00:00Z", "10.96.0.1").replace("192.0.2.80", "10.96.0.2");
    cluster.apply(&thief);
    insta::assert_snapshot!(cluster.apply(&service("victim", "2026-02-01T00:00:00Z", "10.96.0.2")), @"
    shop/thief
      TCP 10.96.0.1:80 -> 5
      group 5: none
      ServiceAddressTaken: TCP 10.96.0.2:80 is served for Service shop/victim, which had it first

    shop/victim
      TCP 10.96.0.2:80 -> 6
      TCP 192.0.2.80:80 -> 6
      group 6: none
    ");
}
