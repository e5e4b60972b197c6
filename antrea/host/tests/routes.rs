//! Routes, compared with what `ip route` shows.

use antrea_host::netlink::{LinkSettings, Veth, VethEnd};
use antrea_host::{Netlink, Outcome};
use antrea_hostplan::{Address, Route, RouteProtocol};
use antrea_types::InterfaceName;

use crate::sandbox::{isolated, sh};

const GATEWAY: &str = "antrea-gw0";

fn name(text: &str) -> InterfaceName {
    text.parse().unwrap()
}

fn route(text: &str) -> Route {
    text.parse().unwrap()
}

/// A namespace with a gateway interface that is up and has addresses without routes.
async fn gateway() -> Netlink {
    let netlink = Netlink::current().unwrap();
    let end = |text| VethEnd { name: name(text), mac: None, mtu: 1450 };
    netlink.create_veth(&Veth { here: end(GATEWAY), peer: end("peer"), peer_netns: None }).await.unwrap();
    for interface in [GATEWAY, "peer"] {
        netlink.ensure_link(&name(interface), &LinkSettings::up()).await.unwrap();
    }
    for text in ["10.11.0.1/24", "fd00:11::1/64"] {
        let address = format!("{text} noprefixroute").parse::<Address>().unwrap();
        netlink.ensure_address(&name(GATEWAY), &address).await.unwrap();
    }
    netlink
}

#[test]
fn routes_are_set_once_and_show_as_written() {
    isolated("routes", async || {
        let netlink = gateway().await;
        for text in [
            "10.11.0.0/24 dev antrea-gw0 scope link src 10.11.0.1",
            "10.11.1.0/24 via 10.11.1.1 dev antrea-gw0 onlink",
            "default via 10.11.0.7 dev antrea-gw0 proto static metric 50",
        ] {
            assert_eq!(netlink.ensure_route(&route(text)).await.unwrap(), Outcome::Changed, "{text}");
            assert_eq!(netlink.ensure_route(&route(text)).await.unwrap(), Outcome::Unchanged, "{text}");
            let destination = text.split(' ').next().unwrap();
            assert_eq!(sh(&format!("ip route show {destination}")).trim_end(), text);
        }
        let other_table = route("10.9.0.0/16 via 10.11.0.9 dev antrea-gw0 table 300");
        netlink.ensure_route(&other_table).await.unwrap();
        assert_eq!(sh("ip route show table 300").trim_end(), "10.9.0.0/16 via 10.11.0.9 dev antrea-gw0");
    });
}

#[test]
fn an_ipv6_peer_is_reached_through_a_route_to_its_gateway() {
    isolated("routes", async || {
        let netlink = gateway().await;
        let routes = [
            route("fd00:11:0:1::1 dev antrea-gw0"),
            route("fd00:11:0:1::/64 via fd00:11:0:1::1 dev antrea-gw0"),
        ];
        for wanted in &routes {
            assert_eq!(netlink.ensure_route(wanted).await.unwrap(), Outcome::Changed, "{wanted}");
            assert_eq!(netlink.ensure_route(wanted).await.unwrap(), Outcome::Unchanged, "{wanted}");
        }
        let shown = sh("ip -6 route get fd00:11:0:1::7");
        assert!(shown.starts_with("fd00:11:0:1::7 from :: via fd00:11:0:1::1 dev antrea-gw0"), "{shown}");
    });
}

#[test]
fn a_gateway_that_is_not_on_the_link_is_refused() {
    isolated("routes", async || {
        let netlink = gateway().await;
        let error = netlink.set_route(&route("10.12.0.0/24 via 10.99.0.1 dev antrea-gw0")).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot set the route 10.12.0.0/24 via 10.99.0.1 dev antrea-gw0");
    });
}

#[test]
fn a_sync_sets_what_is_missing_replaces_what_differs_and_deletes_the_rest() {
    isolated("routes", async || {
        let netlink = gateway().await;
        for text in
            ["10.11.1.0/24 via 10.11.0.9 dev antrea-gw0 onlink", "10.11.9.0/24 dev antrea-gw0 scope link"]
        {
            netlink.set_route(&route(text)).await.unwrap();
        }
        sh("ip route add 10.50.0.0/16 dev peer proto static");
        let desired = [
            route("10.11.1.0/24 via 10.11.1.1 dev antrea-gw0 onlink"),
            route("10.11.2.0/24 via 10.11.2.1 dev antrea-gw0 onlink"),
        ];
        let owned = |route: &Route| route.device == name(GATEWAY) && route.protocol == RouteProtocol::BOOT;
        let changes = netlink.sync_routes(&desired, owned).await.unwrap();
        assert_eq!(changes.set, desired);
        assert_eq!(changes.delete, [route("10.11.9.0/24 dev antrea-gw0 scope link")]);
        assert!(netlink.sync_routes(&desired, owned).await.unwrap().is_empty());
        let lines: Vec<String> = sh("ip route show").lines().map(|line| line.trim_end().to_owned()).collect();
        assert_eq!(
            lines,
            [
                "10.11.1.0/24 via 10.11.1.1 dev antrea-gw0 onlink",
                "10.11.2.0/24 via 10.11.2.1 dev antrea-gw0 onlink",
                "10.50.0.0/16 dev peer proto static scope link",
            ]
        );
    });
}

#[test]
fn a_deleted_route_is_deleted_again_without_complaint() {
    isolated("routes", async || {
        let netlink = gateway().await;
        let wanted = route("10.11.1.0/24 via 10.11.1.1 dev antrea-gw0 onlink");
        netlink.set_route(&wanted).await.unwrap();
        assert_eq!(netlink.delete_route(&wanted).await.unwrap(), Outcome::Changed);
        assert_eq!(netlink.delete_route(&wanted).await.unwrap(), Outcome::Unchanged);
        let elsewhere = route("10.11.1.0/24 dev gone scope link");
        assert_eq!(netlink.delete_route(&elsewhere).await.unwrap(), Outcome::Unchanged);
    });
}

#[test]
fn a_route_that_the_kernel_refuses_keeps_no_other_back() {
    isolated("routes", async || {
        let netlink = gateway().await;
        // A gateway that is this Node's own address is invalid.
        sh("ip address add 172.18.7.1/32 dev lo");
        let desired = [
            route("172.18.7.0/24 via 172.18.7.1 dev antrea-gw0 onlink"),
            route("10.11.2.0/24 via 10.11.2.1 dev antrea-gw0 onlink"),
        ];
        let owned = |route: &Route| route.device == name(GATEWAY) && route.protocol == RouteProtocol::BOOT;
        let error = netlink.sync_routes(&desired, owned).await.unwrap_err();
        assert!(error.to_string().contains("172.18.7.0/24"), "{error}");
        assert!(sh("ip route show").contains("10.11.2.0/24"));
    });
}

#[test]
fn the_source_of_packets_is_the_one_that_the_kernel_chooses() {
    isolated("routes", async || {
        let netlink = Netlink::current().unwrap();
        sh("ip link add one type bridge; ip link set one up");
        sh("ip address add 172.18.0.11/24 dev one; ip address add 192.0.2.11/32 dev one");
        sh("ip address add fd00:18::11/64 dev one nodad");
        sh("ip route add 198.51.100.0/24 via 172.18.0.1 dev one src 192.0.2.11");
        sh(
            "ip route add unreachable 192.0.2.1; ip route add prohibit 192.0.2.2; ip route add blackhole 192.0.2.3",
        );
        for (destination, expected) in [
            ("172.18.0.12", Some("172.18.0.11")),
            ("198.51.100.7", Some("192.0.2.11")),
            ("fd00:18::12", Some("fd00:18::11")),
            ("203.0.113.7", None),
            ("2001:db8::7", None),
            ("192.0.2.1", None),
            ("192.0.2.2", None),
            ("192.0.2.3", None),
            ("0.0.0.1", None),
            ("192.0.2.11", None),
        ] {
            let source = netlink.source_to(destination.parse().unwrap()).await.unwrap();
            assert_eq!(source.map(|source| source.to_string()).as_deref(), expected, "{destination}");
        }
    });
}
