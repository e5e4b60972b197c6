//! Peers without problems, in every mode.

use std::collections::BTreeSet;
use std::net::IpAddr;

use antrea_agent_routing::{Eligibility, NodeFacts, NodeRecord, OwnNode, TrafficMode, TunnelProtocol, plan};
use antrea_pipeline::PeerRoute;

use crate::text::{decide, node, own};

const NEAR_AND_FAR: &str = "
    node-1 0 pods=10.10.0.0/24,fd00:10::/64 at=172.18.0.1,fd00:18::1
    near 1 pods=10.10.1.0/24,fd00:10:0:1::/64 at=172.18.0.2,fd00:18::2
    far 2 pods=10.10.2.0/24,fd00:10:0:2::/64 at=172.19.0.2,fd00:19::2";
const DUAL: &str = "10.10.0.0/24,fd00:10::/64";

#[test]
fn with_encap_every_peer_is_behind_the_tunnel() {
    insta::assert_snapshot!(decide(&own(TrafficMode::Encap, DUAL), NEAR_AND_FAR), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    far: 10.10.2.0/24 by tunnel to 172.19.0.2
    far: fd00:10:0:2::/64 by tunnel to fd00:19::2
    far: 10.10.2.0/24 via 10.10.2.1 dev gw0 onlink
    far: fd00:10:0:2::1 dev gw0
    far: fd00:10:0:2::/64 via fd00:10:0:2::1 dev gw0
    far: fd00:10:0:2::1 dev gw0 lladdr aa:bb:cc:dd:ee:ff PERMANENT
    near: 10.10.1.0/24 by tunnel to 172.18.0.2
    near: fd00:10:0:1::/64 by tunnel to fd00:18::2
    near: 10.10.1.0/24 via 10.10.1.1 dev gw0 onlink
    near: fd00:10:0:1::1 dev gw0
    near: fd00:10:0:1::/64 via fd00:10:0:1::1 dev gw0
    near: fd00:10:0:1::1 dev gw0 lladdr aa:bb:cc:dd:ee:ff PERMANENT
    ");
}

fn own_by_gre(mode: TrafficMode, pod_cidrs: &str) -> OwnNode {
    OwnNode { tunnel: TunnelProtocol::Gre, ..own(mode, pod_cidrs) }
}

#[test]
fn gre_carries_ipv6_of_pods_over_ipv4() {
    let nodes = "far 2 pods=10.10.2.0/24,fd00:10:0:2::/64 at=172.19.0.2,fd00:19::2
        v6 3 pods=fd00:10:0:3::/64 at=fd00:19::3";
    insta::assert_snapshot!(decide(&own_by_gre(TrafficMode::Encap, DUAL), nodes), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    far: 10.10.2.0/24 by tunnel to 172.19.0.2
    far: fd00:10:0:2::/64 by tunnel to 172.19.0.2
    far: 10.10.2.0/24 via 10.10.2.1 dev gw0 onlink
    far: fd00:10:0:2::1 dev gw0
    far: fd00:10:0:2::/64 via fd00:10:0:2::1 dev gw0
    far: fd00:10:0:2::1 dev gw0 lladdr aa:bb:cc:dd:ee:ff PERMANENT
    v6! the Node has an IPv6 Pod CIDR but no IPv4 address to reach it by
    ");
}

#[test]
fn with_hybrid_and_gre_ipv6_is_routed_within_the_subnet() {
    let own = own_by_gre(TrafficMode::Hybrid, "fd00:10::/64");
    insta::assert_snapshot!(decide(&own, NEAR_AND_FAR), @"
    fd00:10::/64 dev gw0 metric 256
    far: fd00:10:0:2::/64 by tunnel to 172.19.0.2
    far: fd00:10:0:2::1 dev gw0
    far: fd00:10:0:2::/64 via fd00:10:0:2::1 dev gw0
    far: fd00:10:0:2::1 dev gw0 lladdr aa:bb:cc:dd:ee:ff PERMANENT
    near: fd00:10:0:1::/64 by host
    near: fd00:10:0:1::/64 via fd00:18::2 dev eth0
    ");
}

#[test]
fn with_no_encap_peers_of_the_subnet_are_routed_to_and_others_are_left_to_the_network() {
    insta::assert_snapshot!(decide(&own(TrafficMode::NoEncap, DUAL), NEAR_AND_FAR), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    far: 10.10.2.0/24 by host
    far: fd00:10:0:2::/64 by host
    near: 10.10.1.0/24 by host
    near: fd00:10:0:1::/64 by host
    near: 10.10.1.0/24 via 172.18.0.2 dev eth0
    near: fd00:10:0:1::/64 via fd00:18::2 dev eth0
    ");
}

#[test]
fn with_hybrid_the_tunnel_is_for_other_subnets() {
    insta::assert_snapshot!(decide(&own(TrafficMode::Hybrid, DUAL), NEAR_AND_FAR), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    far: 10.10.2.0/24 by tunnel to 172.19.0.2
    far: fd00:10:0:2::/64 by tunnel to fd00:19::2
    far: 10.10.2.0/24 via 10.10.2.1 dev gw0 onlink
    far: fd00:10:0:2::1 dev gw0
    far: fd00:10:0:2::/64 via fd00:10:0:2::1 dev gw0
    far: fd00:10:0:2::1 dev gw0 lladdr aa:bb:cc:dd:ee:ff PERMANENT
    near: 10.10.1.0/24 by host
    near: fd00:10:0:1::/64 by host
    near: 10.10.1.0/24 via 172.18.0.2 dev eth0
    near: fd00:10:0:1::/64 via fd00:18::2 dev eth0
    ");
}

#[test]
fn families_that_this_node_does_not_have_are_left_out() {
    insta::assert_snapshot!(decide(&own(TrafficMode::Encap, "10.10.0.0/24"), NEAR_AND_FAR), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    far: 10.10.2.0/24 by tunnel to 172.19.0.2
    far: 10.10.2.0/24 via 10.10.2.1 dev gw0 onlink
    near: 10.10.1.0/24 by tunnel to 172.18.0.2
    near: 10.10.1.0/24 via 10.10.1.1 dev gw0 onlink
    ");
    insta::assert_snapshot!(decide(&own(TrafficMode::Encap, "fd00:10::/64"), NEAR_AND_FAR), @"
    fd00:10::/64 dev gw0 metric 256
    far: fd00:10:0:2::/64 by tunnel to fd00:19::2
    far: fd00:10:0:2::1 dev gw0
    far: fd00:10:0:2::/64 via fd00:10:0:2::1 dev gw0
    far: fd00:10:0:2::1 dev gw0 lladdr aa:bb:cc:dd:ee:ff PERMANENT
    near: fd00:10:0:1::/64 by tunnel to fd00:18::2
    near: fd00:10:0:1::1 dev gw0
    near: fd00:10:0:1::/64 via fd00:10:0:1::1 dev gw0
    near: fd00:10:0:1::1 dev gw0 lladdr aa:bb:cc:dd:ee:ff PERMANENT
    ");
}

#[test]
fn the_way_to_a_pod_of_a_peer_is_known() {
    let nodes = "near 1 pods=10.10.1.0/24,fd00:10:0:1::/64 at=172.18.0.2,fd00:18::2";
    let route = |mode, pod: &str| plan(&own(mode, DUAL), &[node(nodes)]).route_to(pod.parse().unwrap());
    let tunnel = |remote: &str| Some(PeerRoute::Tunnel { remote: remote.parse().unwrap() });
    assert_eq!(route(TrafficMode::Encap, "10.10.1.7"), tunnel("172.18.0.2"));
    assert_eq!(route(TrafficMode::Encap, "fd00:10:0:1::7"), tunnel("fd00:18::2"));
    assert_eq!(route(TrafficMode::Encap, "10.10.0.7"), None);
    assert_eq!(route(TrafficMode::NoEncap, "10.10.1.7"), Some(PeerRoute::Host));
}

#[test]
fn annotated_transport_addresses_replace_those_of_the_node() {
    let nodes = "node-2 1 pods=10.10.1.0/24 at=192.0.2.2 transport=172.18.0.2,fd00:18::2";
    insta::assert_snapshot!(decide(&own(TrafficMode::Encap, "10.10.0.0/24"), nodes), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    node-2: 10.10.1.0/24 by tunnel to 172.18.0.2
    node-2: 10.10.1.0/24 via 10.10.1.1 dev gw0 onlink
    ");
}

#[test]
fn load_balancers_are_told_of_this_node_alone_and_not_to_use_one_that_is_gone() {
    let own = "node-1".parse().unwrap();
    let leaving = |name: &str| NodeRecord { eligibility: Eligibility::Leaving, ..node(&format!("{name} 1")) };
    let eligibility = |nodes: &[NodeRecord]| NodeFacts::of(&own, nodes).eligibility;
    assert_eq!(eligibility(&[node("node-1 1"), leaving("node-2")]), Eligibility::Eligible);
    assert_eq!(eligibility(&[leaving("node-1"), node("node-2 1")]), Eligibility::Leaving);
    assert_eq!(eligibility(&[node("node-2 1")]), Eligibility::Leaving);
}

#[test]
fn all_pod_networks_are_known_to_the_host() {
    let node = NodeRecord {
        name: "node-2".parse().unwrap(),
        created: 1,
        pod_cidrs: vec!["10.10.1.0/24".to_owned()],
        addresses: ["172.18.0.2".parse().unwrap()].into_iter().collect(),
        all_addresses: Default::default(),
        zone: None,
        eligibility: Eligibility::default(),
        transport_addresses: None,
        tunnel_sources: None,
    };
    let routes = plan(&own(TrafficMode::Encap, DUAL), &[node]);
    let networks: Vec<String> = routes.pod_cidrs().iter().map(ToString::to_string).collect();
    assert_eq!(networks, ["10.10.0.0/24", "fd00:10::/64", "10.10.1.0/24"]);
}

/// Whoever writes the object of a Node is not to disturb others.
#[test]
fn what_is_no_address_of_another_host_is_no_far_end_and_the_rest_is_bounded() {
    let far_ends = |text: &str| plan(&own(TrafficMode::Encap, DUAL), &[node(text)]).far_ends();
    let odd = "node-2 1 pods=10.10.1.0/24 at=172.18.0.2 also=0.0.0.0,0.0.0.1,255.255.255.255,::,127.0.0.1,224.0.0.1,ff02::1,172.18.0.1";
    assert_eq!(far_ends(odd), ["172.18.0.2".parse().unwrap()].into());
    let many: Vec<_> = (1..=200).map(|number| format!("192.0.2.{number}")).collect();
    let many = many.join(",");
    let many = far_ends(&format!("node-2 1 pods=10.10.1.0/24 at=198.51.100.2 also={many} sources={many}"));
    assert!(many.len() <= 16 && many.contains(&"198.51.100.2".parse().unwrap()), "{many:?}");
    let sources = "198.51.100.3,198.51.100.4,198.51.100.5,198.51.100.6,198.51.100.7";
    let told = far_ends(&format!("node-2 1 pods=10.10.1.0/24 at=198.51.100.2 sources={sources}"));
    assert_eq!((told.len(), told.contains(&"198.51.100.7".parse().unwrap())), (5, false));
}

#[test]
fn tunnels_of_a_peer_come_also_from_where_its_agent_says_that_they_do() {
    let peer = "node-2 1 pods=10.10.1.0/24 at=172.18.0.2 sources=192.0.2.7,::1,eth1,2001:db8::7";
    let routes = plan(&own(TrafficMode::Encap, DUAL), &[node(peer)]);
    let expected = ["172.18.0.2", "192.0.2.7", "2001:db8::7"].map(|text| text.parse().unwrap());
    assert_eq!(routes.far_ends(), expected.into());
    // What an agent says takes nothing from Services.
    assert!(!routes.known.addresses.contains(&expected[1]));
}

/// At most one address of a family is kept from external IPs, and none from ClusterIPs.
#[test]
fn what_an_agent_says_of_its_node_takes_nothing_from_services_but_where_the_tunnel_goes() {
    let peer =
        "node-2 1 pods=10.10.1.0/24 at=172.18.0.2 transport=10.96.0.1,10.96.0.10,fd00:96::1,192.0.2.80";
    let known = plan(&own(TrafficMode::Encap, DUAL), &[node(peer)]).known;
    assert_eq!(
        known.addresses,
        ["172.18.0.1", "172.18.0.2", "fd00:18::1"].map(|text| text.parse().unwrap()).into()
    );
    assert_eq!(known.transport, ["10.96.0.1", "fd00:96::1"].map(|text| text.parse().unwrap()).into());
}

#[test]
fn what_others_know_of_a_node_is_where_it_may_send_from_without_saying_so() {
    let nodes = [
        node(
            "node-1 0 pods=10.10.0.0/24 at=172.18.0.1 also=172.18.0.1 transport=192.0.2.1 sources=192.0.2.9",
        ),
        node("node-2 1 pods=10.10.1.0/24,fd00:10:0:1::/64 at=172.18.0.2,fd00:18::2"),
    ];
    let routes = plan(&own(TrafficMode::Encap, DUAL), &nodes);
    assert_eq!(routes.remotes(), ["172.18.0.2", "fd00:18::2"].map(|text| text.parse().unwrap()).into());
    let sources = routes.own_sources.unwrap();
    assert_eq!(sources.annotation.as_deref(), Some("192.0.2.9"));
    assert_eq!(sources.known, ["172.18.0.1", "192.0.2.1"].map(|text| text.parse().unwrap()).into());
    assert_eq!(plan(&own(TrafficMode::NoEncap, DUAL), &nodes).remotes(), [].into());
    assert_eq!(plan(&own(TrafficMode::Encap, DUAL), &nodes[1..]).own_sources, None);
}

/// A Node with several addresses may send from any of them. One whose Pods nobody reaches sends nothing.
#[test]
fn tunnels_of_peers_come_from_any_address_that_they_have() {
    let nodes = [
        "node-1 0 pods=10.10.0.0/24 at=172.18.0.1",
        "node-2 1 pods=10.10.1.0/24 at=192.0.2.2,fd00:18::2 also=192.0.2.2,192.0.2.3 transport=172.18.0.2",
        "conflicting 3 pods=10.10.1.128/25 at=192.0.2.5",
    ]
    .map(node);
    let addresses = ["172.18.0.2", "192.0.2.2", "192.0.2.3", "fd00:18::2"];
    for (mode, expected) in
        [(TrafficMode::Encap, &addresses[..]), (TrafficMode::Hybrid, &addresses), (TrafficMode::NoEncap, &[])]
    {
        let routes = plan(&own(mode, DUAL), &nodes);
        let text = |ips: BTreeSet<IpAddr>| ips.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(text(routes.far_ends()), expected, "{mode:?}");
        assert_eq!(text(routes.peer_addresses()), addresses, "{mode:?}");
    }
}

#[test]
fn addresses_and_networks_of_all_nodes_are_known_also_of_those_whose_pods_cannot_be_reached() {
    let nodes = [
        "node-1 0 pods=10.10.0.0/24 at=172.18.0.1 also=172.18.0.1,198.51.100.1",
        "annotated 1 pods=10.10.1.0/24 at=192.0.2.2 also=192.0.2.2,192.0.2.3,fd00:18::2 transport=172.18.0.2,eth1",
        "no-pod-cidr 2 at=192.0.2.4 also=192.0.2.4,203.0.113.4",
        "conflicting 3 pods=10.10.1.128/25 at=192.0.2.5",
    ]
    .map(node);
    let known = plan(&own(TrafficMode::Encap, DUAL), &nodes).known;
    let text = |values: Vec<String>| values.join(" ");
    assert_eq!(
        text(known.addresses.iter().map(ToString::to_string).collect()),
        "172.18.0.1 192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.5 198.51.100.1 203.0.113.4 fd00:18::1 fd00:18::2"
    );
    assert_eq!(
        text(known.transport.iter().map(ToString::to_string).collect()),
        "172.18.0.1 172.18.0.2 192.0.2.4 192.0.2.5"
    );
    assert_eq!(
        text(known.pod_cidrs.iter().map(ToString::to_string).collect()),
        "10.10.0.0/24 10.10.1.0/24 10.10.1.128/25 fd00:10::/64"
    );
}
