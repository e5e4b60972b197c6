//! What the kernel gets for Services of the agent, against the record of upstream's and in other configurations.

use std::collections::BTreeSet;
use std::net::IpAddr;

use antrea_hostplan::iptables::restore_text;
use antrea_hostplan::{
    AgentServices, ClusterIpNetworks, HostConfig, HostServices, Route, ServiceTraffic, host_rules,
    ip_set_changes, ip_set_updates, is_service_route, parse_ip_set_save, service_neighbours, service_routes,
};
use antrea_types::{IpFamily, Protocol};

use crate::host_rules::{ip_sets_of_tunnels_and_others, ipv6_node, recorded_node, with_our_own};

const IPTABLES_SAVE: &str = include_str!("golden/service/iptables-save.txt");
const IPSET_SAVE: &str = include_str!("golden/service/ipset-save.txt");
const IP_ROUTE: &str = include_str!("golden/service/ip-route.txt");

fn addresses(texts: &[&str]) -> impl Iterator<Item = IpAddr> {
    texts.iter().map(|text| text.parse().unwrap())
}

fn agent(services: Option<HostServices>) -> ServiceTraffic {
    ServiceTraffic::ByAgent(AgentServices {
        node_port_addresses: addresses(&["172.18.2.11", "127.0.0.1", "fd00:18::11"]).collect(),
        health_check_port: Some(10256),
        services,
    })
}

fn recorded_services() -> HostServices {
    HostServices {
        node_ports: (30080..=30083).map(|port| (Protocol::Tcp, port)).collect(),
        external_ips: addresses(&["172.18.2.240", "172.18.2.241", "192.0.2.80"]).collect(),
        ..HostServices::default()
    }
}

fn networks(texts: &[&str]) -> ClusterIpNetworks {
    let networks: BTreeSet<_> = texts.iter().map(|text| text.parse().unwrap()).collect();
    ClusterIpNetworks { networks, ..ClusterIpNetworks::default() }
}

fn with_services(config: HostConfig, services: ServiceTraffic) -> HostConfig {
    HostConfig { services, ..config }
}

#[test]
fn the_rules_are_those_of_upstream() {
    let config = with_services(recorded_node(), agent(Some(recorded_services())));
    let rules = host_rules(&config).rulesets.v4.unwrap();
    assert_eq!(restore_text(&rules, &with_our_own(IPTABLES_SAVE)), None);
}

#[test]
fn the_sets_are_those_of_upstream() {
    let mut traffic = agent(Some(recorded_services()));
    let ServiceTraffic::ByAgent(services) = &mut traffic else { unreachable!() };
    // The recorded Node has no IPv6.
    services.node_port_addresses.retain(IpAddr::is_ipv4);
    let plan = host_rules(&with_services(recorded_node(), traffic));
    let [_, sets] = ip_sets_of_tunnels_and_others(plan);
    assert_eq!(ip_set_changes(&sets, &parse_ip_set_save(IPSET_SAVE)), None);
}

#[test]
fn the_routes_are_those_of_upstream() {
    let gateway = "antrea-gw0".parse().unwrap();
    let (services, networks) = (agent(Some(recorded_services())), networks(&["10.97.0.0/16"]));
    let mut routes = service_routes(&services, &networks, &gateway, [IpFamily::V4].into_iter());
    routes.sort();
    let recorded = IP_ROUTE.lines().filter_map(|line| line.parse::<Route>().ok());
    let is_ours = |route: &Route| route.to_string().contains("169.254.0.25");
    let mut recorded: Vec<Route> = recorded.filter(is_ours).collect();
    recorded.sort();
    assert_eq!(routes, recorded);
}

#[test]
fn routes_and_neighbours_are_those_of_the_families_of_pods() {
    let gateway = "antrea-gw0".parse().unwrap();
    let services = HostServices {
        external_ips: addresses(&["192.0.2.80", "fd00:80::1"]).collect(),
        ..HostServices::default()
    };
    let traffic = agent(Some(services));
    let networks = networks(&["10.96.0.0/12", "192.168.100.0/24", "fd00:96::/112"]);
    let text = |families: &[IpFamily]| -> String {
        let routes = service_routes(&traffic, &networks, &gateway, families.iter().copied());
        let neighbours = service_neighbours(&traffic, &gateway, families.iter().copied());
        let routes = routes.iter().map(|route| format!("{route}\n"));
        routes.chain(neighbours.iter().map(|neighbour| format!("{neighbour}\n"))).collect()
    };
    insta::assert_snapshot!(text(&IpFamily::ALL), @r"
    169.254.0.253 dev antrea-gw0 scope link
    10.96.0.0/12 via 169.254.0.253 dev antrea-gw0
    192.168.100.0/24 via 169.254.0.253 dev antrea-gw0
    192.0.2.80 via 169.254.0.253 dev antrea-gw0
    169.254.0.252 via 169.254.0.253 dev antrea-gw0
    fc01::aabb:ccdd:eeff dev antrea-gw0
    fd00:96::/112 via fc01::aabb:ccdd:eeff dev antrea-gw0
    fd00:80::1 via fc01::aabb:ccdd:eeff dev antrea-gw0
    fc01::aabb:ccdd:eefe via fc01::aabb:ccdd:eeff dev antrea-gw0
    169.254.0.253 dev antrea-gw0 lladdr aa:bb:cc:dd:ee:ff PERMANENT
    fc01::aabb:ccdd:eeff dev antrea-gw0 lladdr aa:bb:cc:dd:ee:ff PERMANENT
    ");
    let ipv6 = text(&[IpFamily::V6]);
    assert!(!ipv6.contains("169.254") && ipv6.contains("fd00:80::1"), "{ipv6}");
}

#[test]
fn an_ipv6_node_has_the_same_rules_for_ipv6() {
    let mut host = host_rules(&with_services(ipv6_node(), agent(None)));
    host.tunnel_drops.v4 = None;
    let of_services = |line: &&str| {
        ["NODEPORT", "EXTERNAL", "virtual", "10256", "*"].iter().any(|word| line.contains(word))
    };
    let text: String = host.to_string().lines().filter(of_services).map(|line| format!("{line}\n")).collect();
    insta::assert_snapshot!(text, @r#"
    create ANTREA-NODEPORT-IP hash:ip,port family inet
    create ANTREA-EXTERNAL-IP hash:ip family inet
    create ANTREA-NODEPORT-IP6 hash:ip,port family inet6
    create ANTREA-EXTERNAL-IP6 hash:ip family inet6
    *raw
    -A ANTREA-PREROUTING -m comment --comment "Antrea: do not track request packets destined to external IPs" -m set --match-set ANTREA-EXTERNAL-IP6 dst -j NOTRACK
    -A ANTREA-PREROUTING -m comment --comment "Antrea: do not track reply packets sourced from external IPs" -m set --match-set ANTREA-EXTERNAL-IP6 src -j NOTRACK
    -A ANTREA-OUTPUT -m comment --comment "Antrea: do not track request packets destined to external IPs" -m set --match-set ANTREA-EXTERNAL-IP6 dst -j NOTRACK
    *mangle
    *nat
    -A ANTREA-PREROUTING -m comment --comment "Antrea: DNAT external to NodePort packets" -m set --match-set ANTREA-NODEPORT-IP6 dst,dst -j DNAT --to-destination fc01::aabb:ccdd:eefe
    -A ANTREA-OUTPUT -m comment --comment "Antrea: DNAT local to NodePort packets" -m set --match-set ANTREA-NODEPORT-IP6 dst,dst -j DNAT --to-destination fc01::aabb:ccdd:eefe
    -A ANTREA-POSTROUTING -s fc01::aabb:ccdd:eeff/128 -m comment --comment "Antrea: masquerade OVS virtual source IP" -j MASQUERADE
    *filter
    -A ANTREA-INPUT -p tcp -m comment --comment "Antrea: allow proxy health check input packets" -m tcp --dport 10256 -j ACCEPT
    -A ANTREA-OUTPUT -p tcp -m comment --comment "Antrea: allow proxy health check reply packets" -m tcp --sport 10256 -m conntrack --ctstate ESTABLISHED -j ACCEPT
    "#);
}

#[test]
fn where_the_host_serves_services_it_gets_nothing_of_ours_and_what_was_left_goes() {
    let plan = host_rules(&recorded_node());
    let text = restore_text(&plan.rulesets.v4.unwrap(), &with_our_own(IPTABLES_SAVE)).unwrap();
    for line in
        ["-D PREROUTING -m comment --comment \"Antrea: jump to Antrea prerouting rules\"", "-X ANTREA-OUTPUT"]
    {
        assert!(text.contains(line), "{text}");
    }
    assert!(!text.contains("NODEPORT") && !text.contains("EXTERNAL"), "{text}");
    assert_eq!(
        plan.unwanted_ip_sets,
        ["ANTREA-NODEPORT-IP", "ANTREA-EXTERNAL-IP", "ANTREA-NODEPORT-IP6", "ANTREA-EXTERNAL-IP6"]
    );
    let gateway = "antrea-gw0".parse().unwrap();
    assert_eq!(
        service_routes(&ServiceTraffic::ByHost, &networks(&[]), &gateway, IpFamily::ALL.into_iter()),
        []
    );
    assert_eq!(service_neighbours(&ServiceTraffic::ByHost, &gateway, IpFamily::ALL.into_iter()), []);
}

#[test]
fn until_all_services_are_known_what_is_there_stays() {
    let plan = host_rules(&with_services(recorded_node(), agent(None)));
    let rules = plan.rulesets.v4.clone().unwrap();
    let [_, sets] = ip_sets_of_tunnels_and_others(plan);
    assert_eq!(ip_set_changes(&sets, &parse_ip_set_save(IPSET_SAVE)), None);
    assert_eq!(restore_text(&rules, &with_our_own(IPTABLES_SAVE)), None);
    let gateway = "antrea-gw0".parse().unwrap();
    let routes = service_routes(&agent(None), &networks(&[]), &gateway, [IpFamily::V4].into_iter());
    let ours = IP_ROUTE.lines().filter_map(|line| line.parse::<Route>().ok()).filter(is_service_route);
    assert_eq!((routes.len(), ours.count()), (2, 5));
}

#[test]
fn one_node_port_among_ten_thousand_changes_its_own_entries_alone() {
    let many = HostServices {
        node_ports: (30000..32767)
            .flat_map(|port| [(Protocol::Tcp, port), (Protocol::Udp, port), (Protocol::Sctp, port)])
            .chain((20000..22000).map(|port| (Protocol::Tcp, port)))
            .collect(),
        external_ips: (0..10_000_u32).map(|host| IpAddr::V4((0xc633_6400 + host).into())).collect(),
        ..HostServices::default()
    };
    let mut more = many.clone();
    more.node_ports.insert((Protocol::Tcp, 22000));
    more.external_ips.remove(&"198.51.100.7".parse().unwrap());
    let sets = |services| host_rules(&with_services(recorded_node(), agent(Some(services)))).ip_sets;
    let (before, after) = (sets(many), sets(more));
    insta::assert_snapshot!(ip_set_updates(&before, &after).unwrap(), @r"
    add ANTREA-NODEPORT-IP 127.0.0.1,tcp:22000
    add ANTREA-NODEPORT-IP 172.18.2.11,tcp:22000
    del ANTREA-EXTERNAL-IP 198.51.100.7
    add ANTREA-NODEPORT-IP6 fd00:18::11,tcp:22000
    ");
    assert_eq!(ip_set_updates(&after, &after), None);
}
