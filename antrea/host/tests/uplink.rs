//! The transport interface under its bridge and back, with a router on the other side of the link.

use antrea_host::Netlink;
use antrea_host::bridge_uplink::{bring_to, desired, observe};
use antrea_hostplan::UplinkStep;
use antrea_types::InterfaceName;

use crate::sandbox::{isolated, sh, succeeds};

fn name(text: &str) -> InterfaceName {
    text.parse().unwrap()
}

/// eth1 with addresses and routes of both families, and a bridge of the same MAC.
fn node() {
    sh("ip link add eth1 type veth peer name router; ip link set router up");
    sh("ip link set eth1 address 02:00:00:00:00:01 up");
    sh("ip link add br-phy address 02:00:00:00:00:01 type bridge; ip link set br-phy up");
    sh("ip address add 172.18.2.11/16 dev eth1; ip address add 172.18.2.99/16 dev eth1");
    sh("ip -6 address add fd00:18::11/64 dev eth1 nodad");
    sh("ip route add 10.9.0.1 dev eth1 scope link; ip route add default via 172.18.0.1");
    sh(
        "ip route add 172.29.0.0/16 via 10.9.0.1 proto static metric 7; ip -6 route add default via fd00:18::1",
    );
}

fn with_addresses(interface: &str) -> String {
    let v4 = sh(&format!("ip -o -4 address show dev {interface}"));
    let v6 = sh(&format!("ip -o -6 address show dev {interface} scope global"));
    let addresses = v4.lines().chain(v6.lines()).filter_map(|line| line.split_whitespace().nth(3));
    addresses.collect::<Vec<_>>().join(" ")
}

fn routes(interface: &str) -> Vec<String> {
    let all = sh("ip route show; ip -6 route show");
    let through =
        all.lines().filter(|line| line.contains(&format!("dev {interface} ")) && !line.contains("kernel"));
    // The bridge of the test has no port, and so no carrier.
    through
        .map(|line| line.replace(interface, "DEV").replace(" linkdown", "").trim_end().to_owned())
        .collect()
}

#[test]
fn everything_moves_to_the_bridge_and_back() {
    isolated("uplink", async || {
        node();
        let netlink = Netlink::current().unwrap();
        let (eth1, br_phy) = (name("eth1"), name("br-phy"));
        let (addresses, routes_before) = (with_addresses("eth1"), routes("eth1"));
        assert_eq!(routes_before.len(), 4);

        let wanted = desired(&netlink, &eth1, &br_phy, None).await.unwrap();
        bring_to(&netlink, &wanted, &eth1, &br_phy).await.unwrap();
        assert_eq!((with_addresses("br-phy"), routes("br-phy")), (addresses.clone(), routes_before.clone()));
        assert_eq!((with_addresses("eth1"), routes("eth1")), (String::new(), vec![]));

        let recorded = wanted.to_string().parse().unwrap();
        let again = desired(&netlink, &eth1, &br_phy, Some(&recorded)).await.unwrap();
        assert_eq!(again, wanted);
        let steps = bring_to(&netlink, &again, &eth1, &br_phy).await.unwrap();
        assert_eq!(steps.len(), 1, "{steps:?}");

        bring_to(&netlink, &again, &br_phy, &eth1).await.unwrap();
        assert_eq!((with_addresses("eth1"), routes("eth1")), (addresses, routes_before));
        assert_eq!(with_addresses("br-phy"), "");
    });
}

/// Takes a step as its text says. What is gone with what was deleted before need not be deleted.
fn take(step: &UplinkStep) {
    let line = step.to_string();
    let command = if line.contains("::") { line.replace("ip route", "ip -6 route") } else { line };
    assert!(succeeds(&command) || command.contains(" delete "), "{command}");
}

/// Killed after each number of steps, the next run finishes the move.
#[test]
fn a_move_that_was_killed_is_finished_by_the_next() {
    isolated("uplink", async || {
        node();
        let netlink = Netlink::current().unwrap();
        let (eth1, br_phy) = (name("eth1"), name("br-phy"));
        let (addresses, routes_before) = (with_addresses("eth1"), routes("eth1"));
        let wanted = desired(&netlink, &eth1, &br_phy, None).await.unwrap();
        let recorded = wanted.to_string().parse().unwrap();
        let (from, to) = (observe(&netlink, &eth1).await.unwrap(), observe(&netlink, &br_phy).await.unwrap());
        let steps = antrea_hostplan::move_uplink(&wanted, &from, &to).len();
        for killed_after in 0..=steps {
            let steps = antrea_hostplan::move_uplink(&wanted, &from, &to);
            for step in &steps[..killed_after] {
                take(step);
            }
            let after_restart = desired(&netlink, &eth1, &br_phy, Some(&recorded)).await.unwrap();
            bring_to(&netlink, &after_restart, &eth1, &br_phy).await.unwrap();
            assert_eq!(with_addresses("br-phy"), addresses, "killed after {killed_after}");
            assert_eq!(routes("br-phy"), routes_before, "killed after {killed_after}");
            assert_eq!(with_addresses("eth1"), "", "killed after {killed_after}");
            bring_to(&netlink, &after_restart, &br_phy, &eth1).await.unwrap();
        }
    });
}

#[test]
fn a_bridge_that_was_made_anew_gets_everything_from_the_record() {
    isolated("uplink", async || {
        node();
        let netlink = Netlink::current().unwrap();
        let (eth1, br_phy) = (name("eth1"), name("br-phy"));
        let (addresses, routes_before) = (with_addresses("eth1"), routes("eth1"));
        let recorded = desired(&netlink, &eth1, &br_phy, None).await.unwrap();
        bring_to(&netlink, &recorded, &eth1, &br_phy).await.unwrap();
        sh("ip link delete br-phy; ip link add br-phy type bridge");
        let wanted = desired(&netlink, &eth1, &br_phy, Some(&recorded)).await.unwrap();
        bring_to(&netlink, &wanted, &eth1, &br_phy).await.unwrap();
        assert_eq!((with_addresses("br-phy"), routes("br-phy")), (addresses, routes_before));
        sh("ip link delete br-phy; ip link add br-phy type bridge");
        let error = desired(&netlink, &eth1, &br_phy, None).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is nothing to move between the transport interface and its bridge"
        );
    });
}

#[test]
fn a_route_with_several_next_hops_is_told_before_anything_moves() {
    isolated("uplink", async || {
        node();
        sh("ip route add 10.77.0.0/16 nexthop via 172.18.0.1 dev eth1 nexthop via 10.9.0.1 dev eth1");
        let error =
            desired(&Netlink::current().unwrap(), &name("eth1"), &name("br-phy"), None).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the route to 10.77.0.0/16 has several next hops, one of them through the transport interface eth1: \
             give it one next hop, or several routes with a metric each"
        );
    });
}
