//! In a network namespace of each test: what Services ask for comes, in one go where much comes at once, and goes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::Ipv4Addr;
use std::sync::Arc;

use antrea_agent_multicluster::FlowSource;
use antrea_agent_routing::{NodeRecord, OwnNode, TrafficMode, plan};
use antrea_hostplan::{AgentServices, HostServices, Transport};
use antrea_pipeline::multicluster::{Admits, GatewayRole, RemoteCluster};
use antrea_types::{MacAddr, Protocol};
use futures::FutureExt;

use super::*;
use crate::gateway;
use crate::isolated::{isolated, sh};

mod tunnel;

fn pod_cidrs() -> DualStack<IpNet> {
    ["10.11.0.0/24", "fd00:11::/64"].map(|text| text.parse::<IpNet>().unwrap()).into_iter().collect()
}

/// The routes of a Node with one peer, which is at 172.18.0.12 and has another address beside that.
fn routes() -> NodeRoutes {
    routes_to(&[peer(12)])
}

fn peer(number: u8) -> NodeRecord {
    NodeRecord {
        name: format!("node-{number}").parse().unwrap(),
        created: 0,
        pod_cidrs: vec![format!("10.11.{number}.0/24")],
        addresses: [IpAddr::from([172, 18, 0, number])].into_iter().collect(),
        all_addresses: [0, 7].map(|net| IpAddr::from([172, 18, net, number])).into(),
        zone: None,
        eligibility: antrea_agent_routing::Eligibility::default(),
        transport_addresses: None,
        tunnel_sources: None,
    }
}

fn routes_to(peers: &[NodeRecord]) -> NodeRoutes {
    routes_of(TrafficMode::Encap, peers)
}

fn routes_of(mode: TrafficMode, peers: &[NodeRecord]) -> NodeRoutes {
    let own = OwnNode {
        name: "node-a".parse().unwrap(),
        pod_cidrs: pod_cidrs(),
        gateway: "antrea-gw0".parse().unwrap(),
        transport: Transport {
            interface: "eth0".parse().unwrap(),
            addresses: ["172.18.0.11/24".parse::<IpNet>().unwrap()].into_iter().collect(),
        },
        mode,
        tunnel: antrea_agent_routing::TunnelProtocol::Geneve,
    };
    plan(&own, peers)
}

fn traffic(services: Option<HostServices>) -> ServiceTraffic {
    ServiceTraffic::ByAgent(AgentServices {
        node_port_addresses: ["172.18.0.11".parse().unwrap()].into(),
        health_check_port: None,
        services,
    })
}

fn services(node_ports: impl IntoIterator<Item = u16>, external_ips: &[&str]) -> HostServices {
    HostServices {
        service_cidrs: ["10.96.0.0/16".parse::<IpNet>().unwrap()].into(),
        node_ports: node_ports.into_iter().map(|port| (Protocol::Tcp, port)).collect(),
        external_ips: external_ips.iter().map(|text| text.parse().unwrap()).collect(),
        api_servers: ["172.18.9.1".parse().unwrap()].into(),
        ..HostServices::default()
    }
}

/// Services with these ClusterIPs, of these ServiceCIDRs.
fn with_cluster_ips(cidrs: &[&str], cluster_ips: &[&str]) -> ServiceTraffic {
    traffic(Some(HostServices {
        service_cidrs: cidrs.iter().map(|text| text.parse().unwrap()).collect(),
        cluster_ips: Arc::new(cluster_ips.iter().map(|text| text.parse().unwrap()).collect()),
        ..HostServices::default()
    }))
}

/// One other cluster, whose Gateway is 172.18.9.9.
fn clusters() -> watch::Receiver<FlowSources> {
    let gateway = Ipv4Addr::new(172, 18, 9, 9);
    let cluster = RemoteCluster { networks: Vec::new(), gateway, former_gateways: Vec::new() };
    let role = GatewayRole::Gateway { address: Ipv4Addr::new(172, 18, 0, 11), admits: Admits::Everything };
    let sources = [("multicluster/b".to_owned(), FlowSource::Cluster(role, cluster))];
    watch::Sender::new(sources.into()).subscribe()
}

/// A started component, and what feeds it with Services.
async fn started(services: ServiceTraffic) -> (HostNetwork, watch::Sender<ServiceTraffic>) {
    started_with("", services).await
}

async fn started_with(
    config: &str,
    services: ServiceTraffic,
) -> (HostNetwork, watch::Sender<ServiceTraffic>) {
    started_on(pod_cidrs(), config, services).await
}

async fn started_on(
    pod_cidrs: DualStack<IpNet>,
    config: &str,
    services: ServiceTraffic,
) -> (HostNetwork, watch::Sender<ServiceTraffic>) {
    let gateway = GatewayInterface {
        name: "antrea-gw0".parse().unwrap(),
        mac: MacAddr([2, 0, 0, 0, 0, 1]),
        addresses: gateway::addresses(&pod_cidrs),
    };
    let config = AgentConfig::parse("agent.conf", config).unwrap();
    let (sender, receiver) = watch::channel(services);
    let (_, routes) = watch::channel(routes());
    let netlink = Netlink::current().unwrap();
    let api_server = Some("172.18.9.2".parse().unwrap());
    let asked = Asked { routes, services: receiver, clusters: clusters(), let_in: Arc::default() };
    let mut host = HostNetwork::new(netlink, gateway, &config, pod_cidrs, api_server, asked).unwrap();
    host.start().await.unwrap();
    assert!(matches!(host.state, State::Reached(_)));
    (host, sender)
}

async fn step(host: &mut HostNetwork) {
    let occasion = host.wait().await;
    assert_eq!(occasion, Occasion::Changed);
    host.act(occasion).await;
    assert!(matches!(host.state, State::Reached(_)));
    assert!(host.wait().now_or_never().is_none(), "there is more to do");
}

fn service_routes() -> String {
    sh("ip route show via 169.254.0.253 dev antrea-gw0 | sed 's/ linkdown//; s/ *$//'")
}

fn node_ports() -> String {
    sh("ipset save ANTREA-NODEPORT-IP | grep -c ^add || true")
}

#[test]
fn what_an_earlier_agent_left_for_services_stays_until_all_are_known() {
    isolated("host_network", async || {
        let (host, _) = started(traffic(Some(services([30080], &["192.0.2.80"])))).await;
        drop(host);
        let before = service_routes();
        assert_eq!(before, "10.96.0.0/16\n169.254.0.252\n192.0.2.80");
        let (mut host, sender) = started(traffic(None)).await;
        assert_eq!((service_routes(), node_ports()), (before, "1".to_owned()));
        sender.send_replace(traffic(Some(services([30081, 30082], &[]))));
        step(&mut host).await;
        assert_eq!((service_routes().as_str(), node_ports().as_str()), ("10.96.0.0/16\n169.254.0.252", "2"));
        sender.send_replace(ServiceTraffic::ByHost);
        step(&mut host).await;
        assert_eq!(service_routes(), "");
        assert!(!sh("ipset list -n; iptables-save").contains("NODEPORT"));
    });
}

#[test]
fn many_changes_in_a_burst_are_one_for_the_kernel() {
    isolated("host_network", async || {
        let (mut host, sender) = started(traffic(Some(services([], &[])))).await;
        let change = |count: u16| traffic(Some(services(30000..30000 + count, &["192.0.2.80"])));
        let changes: Vec<ServiceTraffic> = (1..=100).map(change).collect();
        let burst = async {
            for change in changes {
                sender.send_replace(change);
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(step(&mut host), burst);
        assert_eq!(node_ports(), "100");
        assert!(service_routes().contains("192.0.2.80"));
    });
}

#[test]
fn rules_are_not_touched_when_only_services_changed() {
    isolated("host_network", async || {
        let (mut host, sender) = started(traffic(Some(services([30080], &[])))).await;
        // What a comparison would find.
        sh("iptables -t nat -F ANTREA-PREROUTING");
        sender.send_replace(traffic(Some(services([30080, 30081], &[]))));
        step(&mut host).await;
        assert_eq!(node_ports(), "2");
        assert!(!sh("iptables-save -t nat").contains("DNAT external"));
        host.act(Occasion::TimeIsUp).await;
        assert!(sh("iptables-save -t nat").contains("DNAT external"));
    });
}

#[test]
fn what_others_changed_is_repaired_within_a_minute_though_services_change_all_the_time() {
    isolated("host_network", async || {
        let (mut host, sender) = started(traffic(Some(services([30080], &[])))).await;
        let due = host.due;
        sender.send_replace(traffic(Some(services([30080, 30081], &[]))));
        step(&mut host).await;
        assert_eq!(host.due, due);
        assert!(due <= Instant::now() + PERIOD);
        host.due = Instant::now();
        assert_eq!(host.wait().await, Occasion::TimeIsUp);
        host.act(Occasion::TimeIsUp).await;
        assert!(host.due > due);
    });
}

/// An interface with the Node's address and its default route.
fn eth0() {
    sh("ip link add eth0 type bridge; ip link set eth0 up; ip address add 172.18.0.11/24 dev eth0;
        ip route add default via 172.18.0.1 dev eth0");
}

#[test]
fn external_ips_that_are_addresses_of_nodes_or_of_the_api_server_get_no_routes() {
    isolated("host_network", async || {
        eth0();
        let others = ["172.18.0.11", "172.18.0.12", "172.18.7.12", "172.18.9.1", "172.18.9.2", "172.18.0.1"];
        let ips: Vec<&str> = others.into_iter().chain(["192.0.2.80"]).collect();
        let (host, _) = started(traffic(Some(services([], &ips)))).await;
        assert_eq!(service_routes(), "10.96.0.0/16\n169.254.0.252\n192.0.2.80");
        assert_eq!(sh("ipset save ANTREA-EXTERNAL-IP | grep ^add"), "add ANTREA-EXTERNAL-IP 192.0.2.80");
        assert_eq!(host.told.external_ips.len(), others.len());
    });
}

#[test]
fn each_service_cidr_has_a_route_that_goes_with_it_and_never_is_the_default_route() {
    isolated("host_network", async || {
        eth0();
        let change = |cidrs: &[&str]| with_cluster_ips(cidrs, &["10.96.0.1", "192.168.100.7"]);
        let (mut host, sender) = started(change(&["10.96.0.0/12", "192.168.100.0/24"])).await;
        assert_eq!(service_routes(), "10.96.0.0/12\n169.254.0.252\n192.168.100.0/24");
        sender.send_replace(change(&["10.96.0.0/12"]));
        step(&mut host).await;
        assert_eq!(service_routes(), "10.96.0.0/12\n169.254.0.252\n192.168.100.7");
        sender
            .send_replace(with_cluster_ips(&["10.96.0.0/12", "172.16.0.0/12"], &["10.96.0.1", "172.18.1.1"]));
        step(&mut host).await;
        assert_eq!(service_routes(), "10.96.0.0/12\n169.254.0.252\n172.18.1.1");
        assert_eq!(host.told.service_cidrs.len(), 1);
        sender.send_replace(with_cluster_ips(&[], &[]));
        step(&mut host).await;
        assert_eq!(service_routes(), "169.254.0.252");
        assert!(sh("ip route show default").starts_with("default via 172.18.0.1 dev eth0"));
    });
}

#[test]
fn while_the_addresses_of_the_node_are_unknown_services_have_what_they_had() {
    let gateway: antrea_types::InterfaceName = "antrea-gw0".parse().unwrap();
    let config = AgentConfig::parse("agent.conf", "").unwrap();
    let fixed = Fixed::new(gateway.clone(), &config, pod_cidrs(), None);
    let services = traffic(Some(services([30080], &["192.0.2.80"])));
    let wanted = fixed.wanted(&routes(), services, &FlowSources::new(), None);
    let earlier: Route = "192.0.2.81 via 169.254.0.253 dev antrea-gw0".parse().unwrap();
    assert!(!wanted.owns(&earlier, &gateway), "it would be deleted");
    assert!(wanted.routes.iter().all(|route| !route.to_string().starts_with("192.0.2.80")));
    assert!(wanted.plan.to_string().lines().all(|line| !line.starts_with("add ANTREA-EXTERNAL-IP")));
}

#[test]
fn what_fails_is_tried_again_with_growing_pauses_and_by_a_comparison() {
    isolated("host_network", async || {
        let (mut host, sender) = started(traffic(Some(services([], &[])))).await;
        sh("iptables -t nat -F; iptables -t raw -F; ipset destroy ANTREA-EXTERNAL-IP");
        sender.send_replace(traffic(Some(services([], &["192.0.2.80"]))));
        let occasion = host.wait().await;
        host.act(occasion).await;
        assert!(matches!(host.state, State::Failed(0)));
        host.act(Occasion::TimeIsUp).await;
        assert!(matches!(host.state, State::Reached(_)));
        assert!(sh("ipset save ANTREA-EXTERNAL-IP").contains("192.0.2.80"));
    });
}

const NETDEV: &str = "ovsDatapathType: netdev";

fn marked_sources() -> usize {
    sh("nft list ruleset netdev").matches("ether saddr set 02:6d:80:00:00:00").count()
}

#[test]
fn marks_of_packets_get_a_source_mac_on_netdev_and_only_there() {
    isolated("host_network", async || {
        let (mut host, _) = started_with(NETDEV, ServiceTraffic::ByHost).await;
        assert_eq!(marked_sources(), 1);
        sh("nft flush chain netdev antrea egress-antrea-gw0");
        host.act(Occasion::TimeIsUp).await;
        assert_eq!(marked_sources(), 1);
        drop(host);
        let (_host, _) = started(ServiceTraffic::ByHost).await;
        assert_eq!(marked_sources(), 0);
    });
}

#[test]
fn a_gateway_that_is_made_again_has_all_of_it_at_once() {
    isolated("host_network", async || {
        let (mut host, _services) = started_with(NETDEV, traffic(Some(services([], &[])))).await;
        let there = || (marked_sources(), sh("ip -o -4 address show antrea-gw0; ip route show"));
        let before = there();
        sh("ip link delete antrea-gw0; nft delete table netdev antrea");
        assert!(host.wait().now_or_never().is_none(), "there is no gateway to do anything about");
        sh("ip link add antrea-gw0 type bridge");
        let occasion = host.wait().await;
        assert_eq!(occasion, Occasion::GatewayMadeAnew);
        host.act(occasion).await;
        assert!(matches!(host.state, State::Reached(_)));
        let without_index = |(marked, shown): (usize, String)| {
            (marked, shown.split_once(": ").map(|(_, rest)| rest.to_owned()))
        };
        assert_eq!(without_index(there()), without_index(before));
        assert!(host.wait().now_or_never().is_none());
    });
}

#[tokio::test]
async fn a_change_is_acted_on_at_once_and_the_last_one_holds_when_there_are_no_more() {
    let (sender, routes) = watch::channel(routes());
    let (_, services) = watch::channel(ServiceTraffic::ByHost);
    let mut asked = Asked { routes, services, clusters: clusters(), let_in: Arc::default() };
    sender.send_modify(|_| {});
    let mut next = || asked.change_or_time(Instant::now() + PERIOD).now_or_never();
    assert_eq!(next(), Some(Occasion::Changed));
    drop(sender);
    assert_eq!(next(), None);
}
