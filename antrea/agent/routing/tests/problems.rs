//! Peers that something is wrong with: said, and of no harm to the others.

use antrea_agent_routing::TrafficMode;

use crate::text::{decide, node, own};

fn check(nodes: &str) -> String {
    decide(&own(TrafficMode::Encap, "10.10.0.0/24,fd00:10::/64"), nodes)
}

#[test]
fn of_two_nodes_with_one_network_the_older_has_it() {
    insta::assert_snapshot!(check("
        a 2 pods=10.10.1.0/24 at=172.18.0.2
        b 1 pods=10.10.1.0/24 at=172.18.0.3"), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    b: 10.10.1.0/24 by tunnel to 172.18.0.3
    b: 10.10.1.0/24 via 10.10.1.1 dev gw0 onlink
    a! the Pod CIDR 10.10.1.0/24 overlaps with 10.10.1.0/24 of Node b, which keeps it
    ");
}

#[test]
fn of_two_equally_old_nodes_the_first_by_name_has_it() {
    insta::assert_snapshot!(check("
        b 1 pods=10.10.1.0/24 at=172.18.0.3
        a 1 pods=10.10.1.0/24 at=172.18.0.2"), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    a: 10.10.1.0/24 by tunnel to 172.18.0.2
    a: 10.10.1.0/24 via 10.10.1.1 dev gw0 onlink
    b! the Pod CIDR 10.10.1.0/24 overlaps with 10.10.1.0/24 of Node a, which keeps it
    ");
}

#[test]
fn a_network_around_another_is_refused_and_the_other_family_goes_on() {
    insta::assert_snapshot!(check("
        a 1 pods=10.10.1.0/24 at=172.18.0.2
        b 2 pods=10.10.0.0/15,fd00:10:0:2::/64 at=172.18.0.3,fd00:18::3"), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    a: 10.10.1.0/24 by tunnel to 172.18.0.2
    a: 10.10.1.0/24 via 10.10.1.1 dev gw0 onlink
    b: fd00:10:0:2::/64 by tunnel to fd00:18::3
    b: fd00:10:0:2::1 dev gw0
    b: fd00:10:0:2::/64 via fd00:10:0:2::1 dev gw0
    b: fd00:10:0:2::1 dev gw0 lladdr aa:bb:cc:dd:ee:ff PERMANENT
    b! the Pod CIDR 10.10.0.0/15 overlaps with 10.10.0.0/24 of Node node-1, which keeps it
    ");
}

#[test]
fn nobody_has_this_nodes_own_network() {
    insta::assert_snapshot!(check("older 0 pods=10.10.0.0/24 at=172.18.0.2"), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    older! the Pod CIDR 10.10.0.0/24 overlaps with 10.10.0.0/24 of Node node-1, which keeps it
    ");
}

#[test]
fn where_another_node_had_this_nodes_network_before_it_is_this_nodes_problem() {
    let nodes =
        |created| format!("older 1 pods=10.10.0.0/24 at=172.18.0.2\nnode-1 {created} pods=10.10.0.0/24");
    insta::assert_snapshot!(check(&nodes(2)), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    node-1! the Pod CIDR 10.10.0.0/24 of this Node overlaps with 10.10.0.0/24 of Node older, which had it before; remove this Node from the cluster and add it again
    ");
    insta::assert_snapshot!(check(&nodes(0)), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    older! the Pod CIDR 10.10.0.0/24 overlaps with 10.10.0.0/24 of Node node-1, which keeps it
    ");
}

#[test]
fn a_node_that_comes_back_with_other_networks_is_another_one() {
    let own = own(TrafficMode::Encap, "10.10.0.0/24,fd00:10::/64");
    let has = |pods: &str| own.has_networks_of(&node(&format!("node-1 9 {pods}")));
    assert!(has("pods=10.10.0.0/24,fd00:10::/64") && has("pods=fd00:10::/64,10.10.0.0/24"));
    assert!(!has("pods=10.10.0.0/24") && !has("pods=10.10.3.0/24,fd00:10::/64") && !has(""));
}

#[test]
fn a_node_without_network_waits_for_one() {
    insta::assert_snapshot!(check("
        new 1 at=172.18.0.2
        old 0 pods=10.10.1.0/24 at=172.18.0.3"), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    old: 10.10.1.0/24 by tunnel to 172.18.0.3
    old: 10.10.1.0/24 via 10.10.1.1 dev gw0 onlink
    new! the Node has no Pod CIDR
    ");
}

#[test]
fn a_node_without_address_of_a_family_is_reached_by_the_other() {
    insta::assert_snapshot!(check("node-2 1 pods=10.10.1.0/24,fd00:10:0:1::/64 at=172.18.0.2"), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    node-2: 10.10.1.0/24 by tunnel to 172.18.0.2
    node-2: 10.10.1.0/24 via 10.10.1.1 dev gw0 onlink
    node-2! the Node has an IPv6 Pod CIDR but no IPv6 address to reach it by
    ");
    insta::assert_snapshot!(check("node-2 1 pods=10.10.1.0/24"), @"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    node-2! the Node has an IPv4 Pod CIDR but no IPv4 address to reach it by
    ");
}

#[test]
fn text_that_is_no_network_is_named() {
    insta::assert_snapshot!(check("node-2 1 pods=10.10.1.0/33,fd00:10:0:1::/64 at=172.18.0.2,fd00:18::2"), @r#"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    node-2: fd00:10:0:1::/64 by tunnel to fd00:18::2
    node-2: fd00:10:0:1::1 dev gw0
    node-2: fd00:10:0:1::/64 via fd00:10:0:1::1 dev gw0
    node-2: fd00:10:0:1::1 dev gw0 lladdr aa:bb:cc:dd:ee:ff PERMANENT
    node-2! "10.10.1.0/33" in spec.podCIDRs is not a network with room for Pods, such as 10.10.1.0/24
    "#);
    insta::assert_snapshot!(check("node-2 1 pods=10.10.1.0/32 at=172.18.0.2"), @r#"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    node-2! "10.10.1.0/32" in spec.podCIDRs is not a network with room for Pods, such as 10.10.1.0/24
    "#);
}

#[test]
fn an_annotation_that_is_no_address_is_named_and_not_made_up_for() {
    insta::assert_snapshot!(check("node-2 1 pods=10.10.1.0/24 at=172.18.0.2 transport=eth1,fd00:18::2"), @r#"
    10.10.0.0/24 dev gw0 scope link src 10.10.0.1
    fd00:10::/64 dev gw0 metric 256
    node-2! "eth1" in the annotation node.antrea.io/transport-addresses is not an IP address
    node-2! the Node has an IPv4 Pod CIDR but no IPv4 address to reach it by
    "#);
}
