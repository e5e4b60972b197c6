//! Which Node is the Gateway, and what the others do.

use antrea_agent_multicluster::{OwnCluster, PodToPod};
use insta::assert_snapshot;

use crate::member::{own, planned};

/// What n1, n2 and n3 do.
fn roles(yaml: &str) -> String {
    let role = |node| format!("{node} {}", planned(&own(node), yaml));
    ["n1", "n2", "n3"].map(role).concat()
}

const N1: &str = "
kind: Gateway
metadata: {name: n1, creationTimestamp: '2026-11-21T09:00:00Z'}
gatewayIP: 203.0.113.1
internalIP: 172.18.0.1
serviceCIDR: 10.96.0.0/12
";

/// Chosen after [`N1`].
const N2: &str = "
---
kind: Gateway
metadata: {name: n2, creationTimestamp: '2026-11-21T10:00:00Z'}
gatewayIP: 203.0.113.2
internalIP: 172.18.0.2
serviceCIDR: 10.96.0.0/12
";

const WORKS: &str =
    "status: {probe: {heartbeatTime: '2026-11-21T11:00:00.000000Z', nodes: {probed: 2, reached: 2}}}";
const CUT_OFF: &str = "status: {probe: {heartbeatTime: '2026-11-21T11:00:00.000000Z', nodes: {probed: 2}}}";

#[test]
fn without_a_gateway_nobody_sends_to_other_clusters() {
    assert_snapshot!(roles(""), @r"
    n1 no Gateway
    n2 no Gateway
    n3 no Gateway
    ");
}

#[test]
fn the_node_of_the_gateway_is_it_and_the_others_send_to_its_internal_address() {
    assert_snapshot!(roles(N1), @r"
    n1 is the Gateway 203.0.113.1
    n2 by the Gateway 172.18.0.1
    n3 by the Gateway 172.18.0.1
    ");
}

/// By their addresses inside the cluster: they send for other clusters.
#[test]
fn a_node_knows_the_gateways_of_its_cluster_on_other_nodes() {
    let gateways = |node| {
        let plan = planned(&own(node), &format!("{N1}{N2}"));
        plan.gateways.iter().map(|(name, far_end)| format!("{name} {far_end:?}")).collect::<Vec<_>>()
    };
    assert_eq!(gateways("n1"), ["n2 {172.18.0.2}"]);
    assert_eq!(gateways("n3"), ["n1 {172.18.0.1}", "n2 {172.18.0.2}"]);
}

#[test]
fn of_two_gateways_that_say_nothing_the_older_one_is_sent_to() {
    assert_snapshot!(roles(&format!("{N1}{N2}")), @r"
    n1 is the Gateway 203.0.113.1
    n2 by the Gateway 172.18.0.1, stands by as 203.0.113.2
    n3 by the Gateway 172.18.0.1
    ");
}

#[test]
fn a_new_gateway_gets_nothing_while_the_old_one_works() {
    assert_snapshot!(roles(&format!("{N1}{WORKS}{N2}")), @r"
    n1 is the Gateway 203.0.113.1
    n2 by the Gateway 172.18.0.1, stands by as 203.0.113.2
    n3 by the Gateway 172.18.0.1
    ");
    assert_snapshot!(roles(&format!("{N1}{WORKS}{N2}{WORKS}")), @r"
    n1 is the Gateway 203.0.113.1
    n2 by the Gateway 172.18.0.1, stands by as 203.0.113.2
    n3 by the Gateway 172.18.0.1
    ");
}

#[test]
fn a_gateway_that_is_cut_off_loses_to_one_that_says_nothing() {
    assert_snapshot!(roles(&format!("{N1}{CUT_OFF}{N2}")), @r"
    n1 by the Gateway 172.18.0.2, stands by as 203.0.113.1
    n2 is the Gateway 203.0.113.2
    n3 by the Gateway 172.18.0.2
    ");
    assert_snapshot!(roles(&format!("{N1}{N2}{CUT_OFF}")), @r"
    n1 is the Gateway 203.0.113.1
    n2 by the Gateway 172.18.0.1, stands by as 203.0.113.2
    n3 by the Gateway 172.18.0.1
    ");
}

#[test]
fn a_gateway_that_is_alone_is_sent_to_even_if_it_is_cut_off() {
    assert_snapshot!(planned(&own("n3"), &format!("{N1}{CUT_OFF}")), @"by the Gateway 172.18.0.1");
}

#[test]
fn gateways_of_one_second_are_told_apart_by_name() {
    let yaml = format!("{N1}{N2}").replace("T10:", "T09:");
    assert_snapshot!(planned(&own("n3"), &yaml), @"by the Gateway 172.18.0.1");
}

#[test]
fn a_gateway_is_reached_by_ipv6_inside_its_cluster() {
    let yaml = N1.replace("172.18.0.1", "fd00:18::1");
    assert_snapshot!(planned(&own("n3"), &yaml), @"by the Gateway fd00:18::1");
}

#[test]
fn a_gateway_that_cannot_be_reached_is_none() {
    let with = |from: &str, to: &str| planned(&own("n1"), &N1.replace(from, to)).to_string();
    assert_snapshot!(with("203.0.113.1", "gateway.example.org"), @r#"
    no Gateway
    ! Gateway n1: InvalidAddress: gatewayIP: "gateway.example.org" is not an IP address that a Node is reached by
    "#);
    assert_snapshot!(with("203.0.113.1", "127.0.0.1"), @r#"
    no Gateway
    ! Gateway n1: InvalidAddress: gatewayIP: "127.0.0.1" is not an IP address that a Node is reached by
    "#);
    assert_snapshot!(with("203.0.113.1", "fd00:18::1"), @"
    no Gateway
    ! Gateway n1: NoIPv4Gateway: the Gateway has no IPv4 address, and connections between clusters are IPv4: give its Node one, or the annotation multicluster.antrea.io/gateway-ip
    ");
    assert_snapshot!(with("172.18.0.1", "''"), @r#"
    no Gateway
    ! Gateway n1: InvalidAddress: internalIP: "" is not an IP address that a Node is reached by
    "#);
    assert_snapshot!(with("10.96.0.0/12", "10.96.0.0"), @r#"
    no Gateway
    ! Gateway n1: InvalidCIDR: serviceCIDR: "10.96.0.0" is not a network such as 10.96.0.0/12
    "#);
}

#[test]
fn a_bad_gateway_leaves_a_good_one_alone() {
    let yaml = format!("{N1}{N2}").replace("203.0.113.2", "none");
    assert_snapshot!(roles(&yaml), @r#"
    n1 is the Gateway 203.0.113.1
    ! Gateway n2: InvalidAddress: gatewayIP: "none" is not an IP address that a Node is reached by
    n2 by the Gateway 172.18.0.1
    ! Gateway n2: InvalidAddress: gatewayIP: "none" is not an IP address that a Node is reached by
    n3 by the Gateway 172.18.0.1
    ! Gateway n2: InvalidAddress: gatewayIP: "none" is not an IP address that a Node is reached by
    "#);
}

/// What n1 does where its Gateway says this of what is exported.
fn admitting(exported: &str, pod_to_pod: PodToPod) -> String {
    planned(&OwnCluster { pod_to_pod, ..own("n1") }, &format!("{N1}exported: {exported}\n")).to_string()
}

#[test]
fn what_a_gateway_lets_in_is_what_its_object_says() {
    let listed = "{mode: Listed, addresses: [10.96.2.22/32, 'fd00:96::7/128', 10.10.1.5/32], podCIDRs: [10.10.0.0/16]}";
    assert_snapshot!(admitting(listed, PodToPod::Off), @"is the Gateway 203.0.113.1 to 10.10.1.5/32 10.96.2.22/32");
    assert_snapshot!(admitting(listed, PodToPod::On), @"is the Gateway 203.0.113.1 to 10.10.0.0/16 10.10.1.5/32 10.96.2.22/32");
    assert_snapshot!(admitting("{mode: Listed}", PodToPod::On), @"is the Gateway 203.0.113.1 to");
    assert_snapshot!(admitting("null", PodToPod::On), @"is the Gateway 203.0.113.1");
}

#[test]
fn what_cannot_be_read_of_it_is_not_let_in() {
    assert_snapshot!(admitting("{mode: Other, addresses: [10.96.2.22/32]}", PodToPod::Off), @"is the Gateway 203.0.113.1 to 10.96.2.22/32");
    assert_snapshot!(admitting("{mode: Listed, addresses: [10.96.2.22, 10.96.2.23/32]}", PodToPod::Off), @r#"
    is the Gateway 203.0.113.1 to 10.96.2.23/32
    ! Gateway n1: InvalidCIDR: exported.addresses: "10.96.2.22" is not a network such as 10.96.0.0/12
    "#);
}

/// As soon as it is the Gateway, and not with the list of another one.
#[test]
fn a_node_that_is_not_the_gateway_lets_in_what_that_one_does() {
    let lists = |addresses: &str| format!("exported: {{mode: Listed, addresses: [{addresses}]}}\n");
    let yaml = format!("{N1}{}{N2}{}", lists("10.96.2.22/32"), lists("10.96.3.33/32"));
    assert_snapshot!(roles(&yaml), @r"
    n1 is the Gateway 203.0.113.1 to 10.96.2.22/32
    n2 by the Gateway 172.18.0.1, stands by as 203.0.113.2
    n3 by the Gateway 172.18.0.1
    ");
    assert_snapshot!(roles(&format!("{N1}{}{CUT_OFF}{N2}{}", lists("10.96.2.22/32"), lists("10.96.3.33/32"))), @r"
    n1 by the Gateway 172.18.0.2, stands by as 203.0.113.1
    n2 is the Gateway 203.0.113.2 to 10.96.3.33/32
    n3 by the Gateway 172.18.0.2
    ");
}
