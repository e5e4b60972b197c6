//! Which networks of other clusters are reached.

use antrea_agent_multicluster::{OwnCluster, PodToPod};
use insta::assert_snapshot;

use crate::member::{clusters, clusters_of, import, own, planned};

const B: &str = "serviceCIDR: 10.112.0.0/16, gatewayInfos: [{gatewayIP: 172.18.2.1}]";
const C: &str = "serviceCIDR: 10.113.0.0/16, gatewayInfos: [{gatewayIP: 172.18.3.1}]";

#[test]
fn services_of_other_clusters_are_reached_by_their_gateways() {
    assert_snapshot!(clusters(&(import("b", "09:00:00", B) + &import("c", "10:00:00", C))), @"
    b-clusterinfo: 10.112.0.0/16 by 172.18.2.1
    c-clusterinfo: 10.113.0.0/16 by 172.18.3.1
    ");
}

#[test]
fn pods_of_other_clusters_are_reached_where_that_is_asked_for() {
    let yaml = import("b", "09:00:00", &format!("{B}, podCIDRs: [10.20.0.0/16, 10.21.0.7/16]"));
    assert_snapshot!(clusters(&yaml), @"b-clusterinfo: 10.112.0.0/16 by 172.18.2.1");
    assert_snapshot!(clusters_of(&OwnCluster { pod_to_pod: PodToPod::On, ..own("n1") }, &yaml), @"b-clusterinfo: 10.112.0.0/16 10.20.0.0/16 10.21.0.0/16 by 172.18.2.1");
}

#[test]
fn all_networks_of_services_count_and_each_once() {
    let more = "serviceCIDRs: [10.112.0.0/16, 10.114.0.0/16, 'fd00:112::/112']";
    assert_snapshot!(clusters(&import("b", "09:00:00", &format!("{B}, {more}"))), @"b-clusterinfo: 10.112.0.0/16 10.114.0.0/16 by 172.18.2.1");
}

#[test]
fn connections_go_to_the_first_gateway_and_answers_to_all() {
    let addresses = ["172.18.2.2", "'fd00:18::2'", "172.18.2.1", "172.18.2.2"];
    let gateways = addresses.map(|address| format!("{{gatewayIP: {address}}}")).join(", ");
    let spec = format!("serviceCIDR: 10.112.0.0/16, gatewayInfos: [{gateways}]");
    assert_snapshot!(clusters(&import("b", "09:00:00", &spec)), @"b-clusterinfo: 10.112.0.0/16 by 172.18.2.2, formerly 172.18.2.1");
}

#[test]
fn of_two_clusters_with_one_network_the_older_import_has_it() {
    let pods = "podCIDRs: [10.20.0.0/16]";
    let twice = B.replace("172.18.2.1", "172.18.4.1");
    let yaml = import("z", "09:00:00", &format!("{B}, {pods}"))
        + &import("a", "10:00:00", &format!("{twice}, {pods}"))
        + &import("c", "11:00:00", C);
    assert_snapshot!(clusters_of(&OwnCluster { pod_to_pod: PodToPod::On, ..own("n1") }, &yaml), @"
    a-clusterinfo: by 172.18.4.1
    c-clusterinfo: 10.113.0.0/16 by 172.18.3.1
    z-clusterinfo: 10.112.0.0/16 10.20.0.0/16 by 172.18.2.1
    ! ClusterInfoImport a-clusterinfo: CIDROverlaps: 10.20.0.0/16 is not reached, as it overlaps with 10.20.0.0/16 of cluster z: clusters need networks of their own
    ! ClusterInfoImport a-clusterinfo: CIDROverlaps: 10.112.0.0/16 is not reached, as it overlaps with 10.112.0.0/16 of cluster z: clusters need networks of their own
    ");
}

#[test]
fn networks_of_this_cluster_are_never_another_ones() {
    let with = |services: &str| clusters(&import("b", "09:00:00", &B.replace("10.112.0.0/16", services)));
    assert_snapshot!(with("10.96.0.0/12"), @"
    b-clusterinfo: by 172.18.2.1
    ! ClusterInfoImport b-clusterinfo: CIDROverlaps: 10.96.0.0/12 is not reached, as it overlaps with 10.96.0.0/12 of this cluster: clusters need networks of their own
    ");
    assert_snapshot!(with("10.10.3.0/24"), @"
    b-clusterinfo: by 172.18.2.1
    ! ClusterInfoImport b-clusterinfo: CIDROverlaps: 10.10.3.0/24 is not reached, as it overlaps with 10.10.0.0/16 of this cluster: clusters need networks of their own
    ");
    assert_snapshot!(with("172.18.0.0/24"), @"
    b-clusterinfo: by 172.18.2.1
    ! ClusterInfoImport b-clusterinfo: CIDROverlaps: 172.18.0.0/24 is not reached, as it overlaps with 172.18.0.1/32 of this cluster: clusters need networks of their own
    ");
    assert_snapshot!(with("0.0.0.0/0"), @"
    b-clusterinfo: by 172.18.2.1
    ! ClusterInfoImport b-clusterinfo: CIDROverlaps: 0.0.0.0/0 is not reached, as it overlaps with 0.0.0.0/8 that nobody may have: clusters need networks of their own
    ");
}

#[test]
fn what_a_gateway_of_this_cluster_says_of_its_services_counts() {
    let gateway = "
kind: Gateway
metadata: {name: n2}
gatewayIP: 203.0.113.2
internalIP: 172.18.0.2
serviceCIDR: 10.112.0.0/13
";
    assert_snapshot!(clusters(&format!("{gateway}{}", import("b", "09:00:00", B))), @"
    b-clusterinfo: by 172.18.2.1
    ! ClusterInfoImport b-clusterinfo: CIDROverlaps: 10.112.0.0/16 is not reached, as it overlaps with 10.112.0.0/13 of this cluster: clusters need networks of their own
    ");
    let network = B.replace("10.112.0.0/16", "203.0.113.0/24");
    assert_snapshot!(clusters(&format!("{gateway}{}", import("b", "09:00:00", &network))), @"
    b-clusterinfo: by 172.18.2.1
    ! ClusterInfoImport b-clusterinfo: CIDROverlaps: 203.0.113.0/24 is not reached, as it overlaps with 203.0.113.2/32 of this cluster: clusters need networks of their own
    ");
}

#[test]
fn a_gateway_has_an_address_of_its_own() {
    let with = |gateway: &str| {
        import("b", "09:00:00", B) + &import("c", "10:00:00", &C.replace("172.18.3.1", gateway))
    };
    assert_snapshot!(clusters(&with("172.18.2.1")), @"
    b-clusterinfo: 10.112.0.0/16 by 172.18.2.1
    ! ClusterInfoImport c-clusterinfo: GatewayAddressTaken: the Gateway 172.18.2.1 is not used, as its address is in 172.18.2.1/32 of cluster b: set another one with the annotation multicluster.antrea.io/gateway-ip of its Node
    ");
    assert_snapshot!(clusters(&with("172.18.0.2")), @"
    b-clusterinfo: 10.112.0.0/16 by 172.18.2.1
    ! ClusterInfoImport c-clusterinfo: GatewayAddressTaken: the Gateway 172.18.0.2 is not used, as its address is in 172.18.0.2/32 of this cluster: set another one with the annotation multicluster.antrea.io/gateway-ip of its Node
    ");
    assert_snapshot!(clusters(&with("10.112.0.1")), @"
    b-clusterinfo: 10.112.0.0/16 by 172.18.2.1
    ! ClusterInfoImport c-clusterinfo: GatewayAddressTaken: the Gateway 10.112.0.1 is not used, as its address is in 10.112.0.0/16 of cluster b: set another one with the annotation multicluster.antrea.io/gateway-ip of its Node
    ");
    assert_snapshot!(clusters(&with("169.254.0.253")), @r#"
    b-clusterinfo: 10.112.0.0/16 by 172.18.2.1
    ! ClusterInfoImport c-clusterinfo: InvalidAddress: spec.gatewayInfos: "169.254.0.253" is not an IP address that a Node is reached by
    "#);
}

#[test]
fn a_cluster_without_a_gateway_is_not_reached() {
    let with =
        |gateways: &str| clusters(&import("b", "09:00:00", &format!("serviceCIDR: 10.112.0.0/16{gateways}")));
    assert_snapshot!(with(""), @"! ClusterInfoImport b-clusterinfo: NoGateway: the cluster has no Gateway: annotate one of its Nodes with multicluster.antrea.io/gateway=true");
    assert_snapshot!(with(", gatewayInfos: [{gatewayIP: 'fd00:18::2'}]"), @"! ClusterInfoImport b-clusterinfo: NoIPv4Gateway: the Gateway has no IPv4 address, and connections between clusters are IPv4: give its Node one, or the annotation multicluster.antrea.io/gateway-ip");
    assert_snapshot!(with(", gatewayInfos: [{gatewayIP: 172.18.2}]"), @r#"! ClusterInfoImport b-clusterinfo: InvalidAddress: spec.gatewayInfos: "172.18.2" is not an IP address that a Node is reached by"#);
}

#[test]
fn so_many_gateways_of_a_cluster_are_used_and_no_more() {
    let many: Vec<_> = (1..=9).map(|number| format!("{{gatewayIP: 172.18.2.{number}}}")).collect();
    let many = clusters(&import(
        "b",
        "09:00:00",
        &format!("serviceCIDR: 10.112.0.0/16, gatewayInfos: [{}]", many.join(", ")),
    ));
    assert!(many.contains("172.18.2.8") && !many.contains("172.18.2.9"), "{many}");
    assert!(
        many.contains("TooManyGateways: spec.gatewayInfos: the first 8 Gateways are used, and no others"),
        "{many}"
    );
}

#[test]
fn so_many_networks_of_a_cluster_are_reached_and_no_more() {
    let many: Vec<_> = (1..=65).map(|number| format!("10.112.{number}.0/24")).collect();
    let many = clusters(&import(
        "b",
        "09:00:00",
        &format!("serviceCIDRs: [{}], gatewayInfos: [{{gatewayIP: 172.18.2.1}}]", many.join(", ")),
    ));
    assert!(many.contains("10.112.64.0/24") && !many.contains("10.112.65.0/24"), "{many}");
    assert!(
        many.contains("TooManyCIDRs: spec.serviceCIDRs: the first 64 networks are reached, and no others"),
        "{many}"
    );
}

#[test]
fn a_cluster_without_ipv4_gets_answers_and_no_connections() {
    let v6 = B.replace("10.112.0.0/16", "'fd00:112::/112'");
    assert_snapshot!(clusters(&import("b", "09:00:00", &v6)), @"
    b-clusterinfo: by 172.18.2.1
    ! ClusterInfoImport b-clusterinfo: NoIPv4CIDR: the cluster names no IPv4 network, and connections between clusters are IPv4
    ");
}

#[test]
fn what_is_not_a_network_leaves_the_others_alone() {
    let yaml = import("b", "09:00:00", &format!("{B}, serviceCIDRs: [10.112.0.0/33, 10.114.0.0/16]"));
    assert_snapshot!(clusters(&yaml), @r#"
    b-clusterinfo: 10.112.0.0/16 10.114.0.0/16 by 172.18.2.1
    ! ClusterInfoImport b-clusterinfo: InvalidCIDR: spec.serviceCIDRs: "10.112.0.0/33" is not a network such as 10.96.0.0/12
    "#);
}

#[test]
fn a_cluster_with_another_tunnel_is_named_and_keeps_its_flows() {
    let with = |tunnel: &str| clusters(&import("b", "09:00:00", &format!("{B}{tunnel}")));
    assert_snapshot!(with(", tunnel: {type: vxlan, port: 4789}"), @"
    b-clusterinfo: 10.112.0.0/16 by 172.18.2.1
    ! ClusterInfoImport b-clusterinfo: TunnelDiffers: tunnels are geneve on port 6081 here and vxlan on port 4789 there: set one tunnelType and tunnelPort in all clusters
    ");
    assert_snapshot!(with(", tunnel: {type: geneve, port: 6081}"), @"b-clusterinfo: 10.112.0.0/16 by 172.18.2.1");
    assert_snapshot!(with(""), @"b-clusterinfo: 10.112.0.0/16 by 172.18.2.1");
}

#[test]
fn a_gateway_asks_the_gateways_that_connections_go_to() {
    let two = C.replace("[{", "[{gatewayIP: 172.18.3.9}, {");
    let yaml = import("b", "09:00:00", B) + &import("c", "10:00:00", &two) + &import("d", "11:00:00", B);
    let peers: Vec<String> = planned(&own("n1"), &yaml).peers.iter().map(ToString::to_string).collect();
    assert_eq!(peers, ["172.18.2.1 of cluster b", "172.18.3.9 of cluster c"]);
}
