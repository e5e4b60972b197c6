//! UDP connections that lead nowhere.

use crate::cluster::Cluster;

const SERVICE: &str = "
kind: Service
metadata: {namespace: shop, name: dns}
spec: {type: NodePort, clusterIP: 10.96.0.10, ports: [{port: 53, protocol: UDP, nodePort: 30053}]}";

const SLICE: &str = "
kind: EndpointSlice
metadata: {namespace: shop, name: dns-1, labels: {kubernetes.io/service-name: dns}}
addressType: IPv4
ports: [{port: 5353, protocol: UDP}]
endpoints: [{addresses: [10.10.0.2], nodeName: n1}]";

#[test]
fn connections_to_an_endpoint_that_is_gone_are_forgotten() {
    let mut cluster = Cluster::new();
    cluster.apply(&format!("{SERVICE}\n---{SLICE}"));
    insta::assert_snapshot!(cluster.apply(&SLICE.replace("10.10.0.2", "10.10.0.3")), @"
    shop/dns
      UDP 10.96.0.10:53 -> 5
      UDP node port 30053 IPv4 -> 5
      group 5: 10.10.0.3:5353
      forget udp :53 -> 10.10.0.2:5353
      forget udp :30053 -> 10.10.0.2:5353
    ");
    insta::assert_snapshot!(cluster.delete(SERVICE), @"
    shop/dns
      forget udp :53 -> 10.10.0.3:5353
      forget udp :30053 -> 10.10.0.3:5353
    ");
}
