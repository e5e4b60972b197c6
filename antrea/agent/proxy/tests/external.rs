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

/// All that the kernel is told, a line each.
fn told(cluster: &Cluster) -> String {
    let host = cluster.proxy.host_services();
    let ports = host.node_ports.iter().map(|(protocol, port)| format!("{protocol} {port}"));
    let external = host.external_ips.iter().map(|ip| format!("external {ip}"));
    let cluster_ips = host.cluster_ips.iter().map(|ip| format!("ClusterIP {ip}"));
    let cidrs = host.service_cidrs.iter().map(|net| format!("ServiceCIDR {net}"));
    let api_servers = host.api_servers.iter().map(|ip| format!("API server {ip}"));
    let all = ports.chain(external).chain(cluster_ips).chain(cidrs).chain(api_servers);
    all.collect::<Vec<_>>().join("\n")
}

#[test]
fn addresses_of_a_load_balancer_and_no_others_are_reached_from_its_source_ranges_alone() {
    let restricted = |ranges: &str| {
        SERVICE.replace("ports: [", &format!("loadBalancerSourceRanges: [{ranges}]\n  ports: ["))
    };
    insta::assert_snapshot!(plan(settings(), &restricted("172.18.0.0/16, 10.0.0.0/8, 'fd00::/16'")), @"
    shop/web
      TCP 10.96.0.10:80 -> 5
      TCP node port 30080 IPv4 -> 5
      TCP 192.0.2.80:80 -> 5
      TCP 192.0.2.1:80 -> 5
      TCP [fd00:96::10]:80 -> 6
      TCP node port 30080 IPv6 -> 6
      TCP [fd00:1::1]:80 -> 6
      TCP 192.0.2.1:80 from 10.0.0.0/8, 172.18.0.0/16 and the Node
      TCP [fd00:1::1]:80 from fd00::/16
      group 5: 10.10.0.2:8080, 10.10.1.2:8080 remote
      group 6: none
      health :30999 1
    ");
    let some = plan(settings(), &restricted("10.0.0.0/8, somewhere"));
    let told = some.lines().filter(|line| line.contains("from ") || line.contains("Range"));
    let told: Vec<&str> = told.map(str::trim).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
      TCP 192.0.2.1:80 from 10.0.0.0/8
      TCP [fd00:1::1]:80 from nowhere
      SourceRangeRefused: 1 of loadBalancerSourceRanges admit nobody, because they are no networks, such as "somewhere"
      NoSourceRange: loadBalancerSourceRanges has no network of IPv6: nobody reaches the load balancer's addresses of that family
    "#);
    let left = Settings { load_balancer_addresses: LoadBalancerAddresses::Left, ..settings() };
    let left = plan(left, &restricted("somewhere"));
    assert!(!left.contains("from ") && !left.contains("Range"), "{left}");
}

#[test]
fn the_kernel_is_told_of_ports_addresses_and_networks_while_they_are_there() {
    let mut cluster = Cluster::new();
    cluster.apply(SERVICE);
    let networks = ["10.96.0.0/12", "fd00:96::/112"].map(|text| text.parse().unwrap()).to_vec();
    cluster.proxy.replace_service_cidrs(vec![("kubernetes".into(), networks)]);
    cluster.proxy.set_service_cidr("second".into(), vec!["192.168.100.0/24".parse().unwrap()]);
    insta::assert_snapshot!(told(&cluster), @"
    TCP 30080
    external 192.0.2.1
    external 192.0.2.80
    external fd00:1::1
    ClusterIP 10.96.0.10
    ClusterIP fd00:96::10
    ServiceCIDR 10.96.0.0/12
    ServiceCIDR 192.168.100.0/24
    ServiceCIDR fd00:96::/112
    ");
    cluster.delete(SERVICE);
    cluster.proxy.set_service_cidr("second".into(), Vec::new());
    insta::assert_snapshot!(told(&cluster), @"
    ServiceCIDR 10.96.0.0/12
    ServiceCIDR fd00:96::/112
    ");
    let mut left_to_host = Cluster::with(Settings { external: ExternalServices::ByHost, ..settings() });
    left_to_host.apply(SERVICE);
    assert_eq!(told(&left_to_host), "");
}

#[test]
fn the_endpoints_of_the_service_kubernetes_are_where_the_api_server_is_also_while_it_restarts() {
    let mut cluster = Cluster::new();
    let slice = "
kind: EndpointSlice
metadata: {namespace: default, name: kubernetes, labels: {kubernetes.io/service-name: kubernetes}}
addressType: IPv4
ports: [{name: https, port: 6443}]
endpoints: [{addresses: [172.18.0.2]}]";
    cluster.apply(&slice.replace("namespace: default", "namespace: shop"));
    assert_eq!(told(&cluster), "");
    cluster.apply(slice);
    assert_eq!(told(&cluster), "API server 172.18.0.2");
    cluster.apply(&slice.replace("{addresses: [172.18.0.2]}", ""));
    assert_eq!(told(&cluster), "API server 172.18.0.2");
    cluster.delete(slice);
    assert_eq!(told(&cluster), "API server 172.18.0.2");
    cluster.apply(&slice.replace("172.18.0.2", "172.18.0.3"));
    assert_eq!(told(&cluster), "API server 172.18.0.3");
}
