//! NodePorts, external IPs and addresses of load balancers.

use antrea_agent_proxy::{ExternalServices, LoadBalancerAddresses, Settings};

use crate::cluster::{Cluster, settings};

const SERVICE: &str = "
kind: Service
metadata: {namespace: shop, name: web}
spec:
  type: LoadBalancer
  clusterIPs: [10.96.0.10, 'fd00:96::10']
  externalIPs: [192.0.2.80]
  ports: [{port: 80, nodePort: 30080}]
  healthCheckNodePort: 30999
  externalTrafficPolicy: Cluster
status: {loadBalancer: {ingress: [{ip: 192.0.2.1}, {ip: 192.0.2.2, ipMode: Proxy}, {ip: 'fd00:1::1', ipMode: VIP}, {hostname: lb}]}}";

const SLICE: &str = "
kind: EndpointSlice
metadata: {namespace: shop, name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: '', port: 8080}]
endpoints: [{addresses: [10.10.0.2], nodeName: n1}, {addresses: [10.10.1.2], nodeName: n2}]";

fn plan(settings: Settings, service: &str) -> String {
    let mut cluster = Cluster::with(settings);
    cluster.apply(&format!("{service}\n---{SLICE}"))
}

#[test]
fn a_service_is_served_on_all_its_addresses() {
    insta::assert_snapshot!(plan(settings(), SERVICE), @"
    shop/web
      TCP 10.96.0.10:80 -> 5
      TCP node port 30080 IPv4 -> 5
      TCP 192.0.2.80:80 -> 5
      TCP 192.0.2.1:80 -> 5
      TCP [fd00:96::10]:80 -> 6
      TCP node port 30080 IPv6 -> 6
      TCP [fd00:1::1]:80 -> 6
      group 5: 10.10.0.2:8080, 10.10.1.2:8080 remote
      group 6: none
      health :30999 1
    ");
}

#[test]
fn the_host_keeps_what_is_left_to_it() {
    let by_host = || Settings { external: ExternalServices::ByHost, ..settings() };
    insta::assert_snapshot!(plan(by_host(), SERVICE), @"
    shop/web
      TCP 10.96.0.10:80 -> 5
      TCP 192.0.2.1:80 -> 5
      TCP [fd00:96::10]:80 -> 6
      TCP [fd00:1::1]:80 -> 6
      group 5: 10.10.0.2:8080, 10.10.1.2:8080 remote
      group 6: none
      health :30999 1
    ");
    let left = Settings { load_balancer_addresses: LoadBalancerAddresses::Left, ..by_host() };
    insta::assert_snapshot!(plan(left, SERVICE), @"
    shop/web
      TCP 10.96.0.10:80 -> 5
      TCP [fd00:96::10]:80 -> 6
      group 5: 10.10.0.2:8080, 10.10.1.2:8080 remote
      group 6: none
      health :30999 1
    ");
}

#[test]
fn external_clients_may_have_to_stay_on_the_node_but_local_ones_do_not() {
    insta::assert_snapshot!(plan(settings(), &SERVICE.replace("Policy: Cluster", "Policy: Local")), @"
    shop/web
      TCP 10.96.0.10:80 -> 5
      TCP node port 30080 IPv4 -> 6, local clients 5
      TCP 192.0.2.80:80 -> 6, local clients 5
      TCP 192.0.2.1:80 -> 6, local clients 5
      TCP [fd00:96::10]:80 -> 7
      TCP node port 30080 IPv6 -> 8, local clients 7
      TCP [fd00:1::1]:80 -> 8, local clients 7
      group 5: 10.10.0.2:8080, 10.10.1.2:8080 remote
      group 6: 10.10.0.2:8080
      group 7: none
      group 8: none
      health :30999 1
    ");
}

#[test]
fn answers_may_get_back_directly() {
    let annotation = "annotations: {service.antrea.io/load-balancer-mode: dsr}";
    let service = SERVICE.replace("name: web}", &format!("name: web, {annotation}}}"));
    insta::assert_snapshot!(plan(settings(), &service), @"
    shop/web
      TCP 10.96.0.10:80 -> 5
      TCP node port 30080 IPv4 -> 5
      TCP 192.0.2.80:80 -> 5, dsr 6
      TCP 192.0.2.1:80 -> 5, dsr 6
      TCP [fd00:96::10]:80 -> 7
      TCP node port 30080 IPv6 -> 7
      TCP [fd00:1::1]:80 -> 7, dsr 8
      group 5 dsr: 10.10.0.2:8080, 10.10.1.2:8080 remote
      group 6 dsr: 10.10.0.2:8080
      group 7 dsr: none
      group 8 dsr: none
      health :30999 1
    ");
}

#[test]
fn clients_may_stay_with_their_endpoint() {
    let check = |config: &str, expect: &str| {
        let affinity = format!("sessionAffinity: ClientIP{config}\n  externalTrafficPolicy");
        let text = plan(settings(), &SERVICE.replace("externalTrafficPolicy", &affinity));
        assert!(text.contains(&format!("TCP 10.96.0.10:80 -> 5, affinity {expect}\n")), "{text}");
    };
    check("", "10800");
    check("\n  sessionAffinityConfig: {clientIP: {timeoutSeconds: 300}}", "300");
    check("\n  sessionAffinityConfig: {clientIP: {timeoutSeconds: 86400}}", "65535");
}

#[test]
fn the_kernel_is_told_of_ports_addresses_and_networks() {
    let mut cluster = Cluster::new();
    cluster.apply(SERVICE);
    let text = |cluster: &Cluster| {
        let host = cluster.proxy.host_services();
        let ports = host.node_ports.iter().map(|(protocol, port)| format!("{protocol} {port}"));
        let ips = host.external_ips.iter().map(ToString::to_string);
        ports
            .chain(ips)
            .chain(host.service_cidrs.iter().map(ToString::to_string))
            .collect::<Vec<_>>()
            .join("\n")
    };
    insta::assert_snapshot!(text(&cluster), @"
    TCP 30080
    192.0.2.1
    192.0.2.80
    fd00:1::1
    10.96.0.10/32
    fd00:96::10/128
    ");
    cluster.delete(SERVICE);
    insta::assert_snapshot!(text(&cluster), @"
    10.96.0.10/32
    fd00:96::10/128
    ");
}
