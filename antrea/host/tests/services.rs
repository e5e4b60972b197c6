//! What the kernel gets so that the agent serves Services, with the real iptables and ipset.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use antrea_host::netlink::{Veth, VethEnd};
use antrea_host::{Netlink, Outcome, find_node_port_addresses, find_own_network, firewall};
use antrea_hostplan::{
    AgentServices, ClusterIpNetworks, HostPlan, HostServices, Route, ServiceTraffic, host_rules,
    service_neighbours, service_routes,
};
use antrea_types::{GLOBAL_VIRTUAL_MAC, InterfaceName, IpFamily, Protocol};

use crate::firewall::{config, saved};
use crate::sandbox::{OtherNetns, isolated, sh};

const GATEWAY: &str = "antrea-gw0";

fn name(text: &str) -> InterfaceName {
    text.parse().unwrap()
}

fn ips<const N: usize>(texts: [&str; N]) -> impl Iterator<Item = IpAddr> {
    texts.into_iter().map(|text| text.parse().unwrap())
}

fn known() -> HostServices {
    HostServices {
        node_ports: [(Protocol::Tcp, 30080), (Protocol::Udp, 30081), (Protocol::Sctp, 30082)].into(),
        external_ips: ips(["192.0.2.80", "fd00:80::1"]).collect(),
        ..HostServices::default()
    }
}

fn networks<const N: usize>(texts: [&str; N]) -> ClusterIpNetworks {
    let networks = texts.into_iter().map(|text| text.parse().unwrap()).collect();
    ClusterIpNetworks { networks, ..ClusterIpNetworks::default() }
}

fn agent(services: Option<HostServices>) -> ServiceTraffic {
    ServiceTraffic::ByAgent(AgentServices {
        node_port_addresses: ips(["127.0.0.1", "172.18.0.11", "fd00:18::11"]).collect(),
        health_check_port: Some(10256),
        services,
    })
}

fn gateway_link() {
    sh("ip link add antrea-gw0 type bridge");
}

fn plan(services: ServiceTraffic) -> HostPlan {
    host_rules(&antrea_hostplan::HostConfig { services, ..config() })
}

fn entries(set: &str) -> Vec<String> {
    let saved = sh(&format!("ipset save {set} | sed -n 's/^add [^ ]* //p' | sort"));
    saved.lines().map(str::to_owned).collect()
}

#[test]
fn applying_twice_changes_nothing_and_a_sync_finds_nothing() {
    isolated("services", async || {
        gateway_link();
        let plan = plan(agent(Some(known())));
        firewall::apply_at_start(&plan).await.unwrap();
        let first = saved();
        for line in [
            "--match-set ANTREA-NODEPORT-IP dst,dst -j DNAT --to-destination 169.254.0.252",
            "--match-set ANTREA-NODEPORT-IP6 dst,dst -j DNAT --to-destination fc01::aabb:ccdd:eefe",
            "add ANTREA-NODEPORT-IP 172.18.0.11,sctp:30082",
            "add ANTREA-EXTERNAL-IP6 fd00:80::1",
        ] {
            assert!(first.contains(line), "{line}: {first}");
        }
        assert_eq!(firewall::sync(&plan).await.unwrap(), Outcome::Unchanged);
        firewall::apply_at_start(&plan).await.unwrap();
        assert_eq!(saved(), first);
    });
}

#[test]
fn rules_come_before_those_of_kube_proxy_also_when_these_came_later() {
    isolated("services", async || {
        gateway_link();
        let kube_proxy = "iptables -t nat -N KUBE-SERVICES
            for chain in PREROUTING OUTPUT; do
                iptables -t nat -I $chain -m comment --comment 'kubernetes service portals' -j KUBE-SERVICES
            done";
        let first =
            || ["PREROUTING", "OUTPUT"].map(|chain| sh(&format!("iptables -t nat -S {chain} | sed -n 2p")));
        sh(kube_proxy);
        let plan = plan(agent(None));
        firewall::apply_at_start(&plan).await.unwrap();
        assert!(first().iter().all(|rule| rule.contains("ANTREA-")), "{:?}", first());
        sh("iptables -t nat -D PREROUTING 2; iptables -t nat -D OUTPUT 2; iptables -t nat -X KUBE-SERVICES");
        sh(kube_proxy);
        assert_eq!(firewall::sync(&plan).await.unwrap(), Outcome::Changed);
        assert!(first().iter().all(|rule| rule.contains("ANTREA-")), "{:?}", first());
        assert_eq!(sh("iptables-save -t nat | grep -c 'j ANTREA-'"), "3");
        assert_eq!(firewall::sync(&plan).await.unwrap(), Outcome::Unchanged);
    });
}

#[test]
fn entries_that_come_and_go_are_changed_without_a_look_at_the_rest() {
    isolated("services", async || {
        gateway_link();
        let before = plan(agent(Some(known())));
        firewall::apply_at_start(&before).await.unwrap();
        sh("ipset add ANTREA-EXTERNAL-IP 192.0.2.99");
        let mut services = known();
        services.node_ports.remove(&(Protocol::Udp, 30081));
        services.external_ips.insert("192.0.2.81".parse().unwrap());
        let after = plan(agent(Some(services)));
        assert_eq!(firewall::update(&before, &after).await.unwrap(), Outcome::Changed);
        assert_eq!(entries("ANTREA-EXTERNAL-IP"), ["192.0.2.80", "192.0.2.81", "192.0.2.99"]);
        let ports = [
            "127.0.0.1,sctp:30082",
            "127.0.0.1,tcp:30080",
            "172.18.0.11,sctp:30082",
            "172.18.0.11,tcp:30080",
        ];
        assert_eq!(entries("ANTREA-NODEPORT-IP"), ports);
        assert_eq!(firewall::update(&after, &after).await.unwrap(), Outcome::Unchanged);
        assert_eq!(firewall::sync(&after).await.unwrap(), Outcome::Changed);
        assert_eq!(entries("ANTREA-EXTERNAL-IP"), ["192.0.2.80", "192.0.2.81"]);
    });
}

#[test]
fn what_an_earlier_agent_left_stays_until_all_services_are_known_and_goes_with_the_proxy() {
    isolated("services", async || {
        gateway_link();
        let full = plan(agent(Some(known())));
        firewall::apply_at_start(&full).await.unwrap();
        let right = saved();
        let unknown = plan(agent(None));
        firewall::apply_at_start(&unknown).await.unwrap();
        assert_eq!(firewall::sync(&unknown).await.unwrap(), Outcome::Unchanged);
        assert_eq!(saved(), right);
        assert_eq!(firewall::update(&unknown, &full).await.unwrap(), Outcome::Changed);
        assert_eq!(saved(), right);
        let by_host = plan(ServiceTraffic::ByHost);
        firewall::apply_at_start(&by_host).await.unwrap();
        assert_eq!(firewall::sync(&by_host).await.unwrap(), Outcome::Changed);
        assert_eq!(
            sh("ipset list -n | sort"),
            "ANTREA-POD-IP\nANTREA-POD-IP6\nANTREA-TUNNEL-IP\nANTREA-TUNNEL-IP6"
        );
        assert!(!saved().contains("-j DNAT"));
    });
}

/// A Node between a client and a bridge that answers for Services: both are namespaces of their own.
pub(crate) struct Cabling {
    netlink: Netlink,
    pub(crate) client: OtherNetns,
    pub(crate) bridge: OtherNetns,
}

impl Cabling {
    pub(crate) async fn new() -> Self {
        let netlink = Netlink::current().unwrap();
        let (client, bridge) = (OtherNetns::new(), OtherNetns::new());
        for (here, netns, mac) in [("eth0", &client, None), (GATEWAY, &bridge, Some(GLOBAL_VIRTUAL_MAC))] {
            let end = |text, mac| VethEnd { name: name(text), mac, mtu: 1450 };
            let veth =
                Veth { here: end(here, None), peer: end("eth0", mac), peer_netns: Some(netns.netns()) };
            netlink.create_veth(&veth).await.unwrap();
        }
        sh(
            "sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
            ip link set eth0 up; ip link set antrea-gw0 up
            ip address add 172.18.0.11/24 dev eth0; ip -6 address add fd00:18::11/64 dev eth0 nodad
            ip address add 10.11.0.1/24 dev antrea-gw0; ip -6 address add fd00:11::1/64 dev antrea-gw0 nodad",
        );
        client
            .sh("ip link set eth0 up; ip address add 172.18.0.2/24 dev eth0
                 ip -6 address add fd00:18::2/64 dev eth0 nodad
                 ip route add 192.0.2.80 via 172.18.0.11; ip -6 route add fd00:80::1 via fd00:18::11")
            .await;
        bridge
            .sh("ip link set eth0 up; ip address add 10.11.0.7/24 dev eth0
                 ip -6 address add fd00:11::7/64 dev eth0 nodad
                 for ip in 169.254.0.252/32 10.96.0.10/32 192.0.2.80/32; do ip address add $ip dev eth0; done
                 for ip in fc01::aabb:ccdd:eefe fd00:96::10 fd00:80::1; do ip -6 address add $ip/128 dev eth0 nodad; done
                 ip route add default via 10.11.0.1; ip -6 route add default via fd00:11::1")
            .await;
        Self { netlink, client, bridge }
    }

    async fn apply(&self, traffic: &ServiceTraffic) {
        let families = || IpFamily::ALL.into_iter();
        let routes =
            service_routes(traffic, &networks(["10.96.0.0/16", "fd00:96::/112"]), &name(GATEWAY), families());
        self.netlink.sync_routes(&routes, antrea_hostplan::is_service_route).await.unwrap();
        let neighbours = service_neighbours(traffic, &name(GATEWAY), families());
        self.netlink.sync_neighbours(&neighbours, |_| true).await.unwrap();
        firewall::apply_at_start(&plan(traffic.clone())).await.unwrap();
    }

    /// What answers all Services. It ends with the namespace's test.
    async fn listen(&self) {
        let listen = || {
            let listener = TcpListener::bind("[::]:30080").unwrap();
            std::thread::spawn(move || listener.incoming().for_each(drop));
        };
        self.bridge.netns().run(listen).await.unwrap();
    }
}

fn connects(to: &str) -> bool {
    let to: SocketAddr = to.parse().unwrap();
    TcpStream::connect_timeout(&to, Duration::from_millis(500)).is_ok()
}

#[test]
fn packets_to_services_get_to_the_bridge_from_outside_and_from_the_node() {
    isolated("services", async || {
        let cabling = Cabling::new().await;
        cabling.listen().await;
        let node_ports = ["172.18.0.11:30080", "[fd00:18::11]:30080"];
        let external = ["192.0.2.80:30080", "[fd00:80::1]:30080"];
        assert!(!connects(node_ports[0]));
        cabling.apply(&agent(Some(known()))).await;
        let client = cabling.client.netns();
        for to in node_ports.into_iter().chain(external) {
            assert!(client.run(move || connects(to)).await.unwrap(), "from outside to {to}");
        }
        for to in node_ports.into_iter().chain(external).chain(["10.96.0.10:30080", "[fd00:96::10]:30080"]) {
            assert!(connects(to), "from the Node to {to}");
        }
        // Its source could not leave the loopback interface without net.ipv4.conf.antrea-gw0.route_localnet.
        assert!(!connects("127.0.0.1:30080"));
        assert!(!connects("172.18.0.11:30079"), "what is no NodePort");
        cabling.apply(&ServiceTraffic::ByHost).await;
        assert!(node_ports.into_iter().chain(external).all(|to| !connects(to)));
        assert_eq!(sh("ip route show via 169.254.0.253; ip neigh show nud permanent dev antrea-gw0"), "");
    });
}

#[test]
fn a_wider_route_to_services_is_there_before_the_old_one_goes() {
    isolated("services", async || {
        sh("ip link add antrea-gw0 type bridge; ip link set antrea-gw0 up");
        let netlink = Netlink::current().unwrap();
        let routes = |cidr: &str| -> Vec<Route> {
            let services = agent(Some(HostServices::default()));
            service_routes(&services, &networks([cidr]), &name(GATEWAY), [IpFamily::V4].into_iter())
        };
        let ours = antrea_hostplan::is_service_route;
        netlink.sync_routes(&routes("10.96.0.0/16"), ours).await.unwrap();
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut monitor = std::process::Command::new("ip")
            .args(["monitor", "route"])
            .stdout(log.reopen().unwrap())
            .spawn()
            .unwrap();
        let told = || std::fs::read_to_string(log.path()).unwrap();
        let probe = "198.51.100.1 dev antrea-gw0 scope link";
        while !told().contains("198.51.100.1") {
            netlink.set_route(&probe.parse().unwrap()).await.unwrap();
            netlink.delete_route(&probe.parse().unwrap()).await.unwrap();
        }
        netlink.sync_routes(&routes("10.96.0.0/12"), ours).await.unwrap();
        while !told().contains("Deleted 10.96") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        monitor.kill().unwrap();
        monitor.wait().unwrap();
        let lines: Vec<String> =
            told().lines().filter(|line| line.contains("10.96")).map(str::to_owned).collect();
        assert!(lines[0].starts_with("10.96.0.0/12 via 169.254.0.253"), "{lines:?}");
        assert!(lines[1].starts_with("Deleted 10.96.0.0/16 via 169.254.0.253"), "{lines:?}");
    });
}

#[test]
fn addresses_of_node_ports_are_those_of_the_node_without_those_of_pods_and_links() {
    isolated("services", async || {
        let cabling = Cabling::new().await;
        let found = async |cidrs: &[&str]| {
            let cidrs: Vec<_> = cidrs.iter().map(|text| text.parse().unwrap()).collect();
            let found = find_node_port_addresses(&cabling.netlink, &name(GATEWAY), &cidrs).await.unwrap();
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found(&[]).await, ["127.0.0.1", "172.18.0.11", "::1", "fd00:18::11"]);
        assert_eq!(found(&["172.18.0.0/16"]).await, ["172.18.0.11"]);
    });
}

#[test]
fn a_node_knows_the_networks_it_is_connected_to_and_the_gateways_of_its_routes() {
    isolated("services", async || {
        gateway_link();
        sh("ip link set lo up; ip link set antrea-gw0 up; ip address add 10.11.0.1/24 dev antrea-gw0;
            ip link add eth0 type bridge; ip address add 172.18.0.11/24 dev eth0; ip link set eth0 up;
            ip link add eth1 type bridge; ip address add 203.0.113.7/32 dev eth1; ip link set eth1 up;
            ip route add default via 203.0.113.1 dev eth1 onlink;
            ip route add 198.51.100.0/24 nexthop via 172.18.0.2 dev eth0 nexthop via 172.18.0.3 dev eth0;
            ip route add 10.11.1.0/24 via 10.11.1.1 dev antrea-gw0 onlink");
        let own = find_own_network(&Netlink::current().unwrap(), &name(GATEWAY)).await.unwrap();
        let text = |texts: Vec<String>| texts.join(" ");
        assert_eq!(text(own.connected.iter().map(ToString::to_string).collect()), "172.18.0.0/24");
        let next_hops = own.next_hops.iter().map(ToString::to_string).collect();
        assert_eq!(text(next_hops), "172.18.0.2 172.18.0.3 203.0.113.1");
        assert!(own.addresses.contains(&"203.0.113.7".parse().unwrap()), "{own:?}");
        assert!(!own.addresses.contains(&"10.11.0.1".parse().unwrap()), "{own:?}");
    });
}
