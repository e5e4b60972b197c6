//! Addresses and networks in ResourceExports.

use antrea_kit::watch::WatchEvent;

use super::exports::{ENDPOINTS, INFO, check, check_in, update, with};
use super::{EAST, LEADER_SET, answer, exported, known, objects};
use crate::{Event, Hook, Known};

#[test]
fn a_member_exports_addresses_in_its_networks_alone() {
    for (ip, expected) in [
        ("10.1.255.1", "allowed"),
        ("10.101.0.7", "allowed"),
        ("10.2.0.1", "403: 10.2.0.1 is in Service CIDR 10.2.0.0/16 of cluster west"),
        ("203.0.113.7", "403: 203.0.113.7 is in no network that cluster east has announced"),
        (
            "169.254.169.254",
            "422: spec.endpoints.subsets[0].addresses[0].ip: \"169.254.169.254\" cannot be reached by other hosts, as no link-local address can",
        ),
        (
            "255.255.255.255",
            "422: spec.endpoints.subsets[0].addresses[0].ip: \"255.255.255.255\" cannot be reached by other hosts, as no reserved address can",
        ),
    ] {
        check("mc/east-token", "create", &with(ENDPOINTS, "10.1.0.7", ip), expected);
        check("mc/east-token", "update", &update(ENDPOINTS, "10.1.0.7", ip), expected);
    }
    let not_ready = with(ENDPOINTS, "{addresses: [{ip: 10.1.0.7}]}", "{notReadyAddresses: [{ip: 10.2.0.1}]}");
    check(
        "mc/east-token",
        "create",
        &not_ready,
        "403: 10.2.0.1 is in Service CIDR 10.2.0.0/16 of cluster west",
    );
    let slice = with(
        ENDPOINTS,
        "subsets: [{addresses: [{ip: 10.1.0.7}]}]",
        "endpointSlices: [{addressType: IPv4, endpoints: [{addresses: [10.1.0.7, 10.2.0.1]}]}]",
    );
    check("mc/east-token", "create", &slice, "403: 10.2.0.1 is in Service CIDR 10.2.0.0/16 of cluster west");
}

/// Its Pods are in no ClusterInfo.
#[test]
fn a_headless_service_is_exported_without_a_gateway() {
    check("mc/east-token", "create", &with(ENDPOINTS, "10.1.0.7", "10.101.0.7"), "allowed");
    let known = known();
    let nodes = with(EAST, "podCIDRs: [10.101.0.0/16]", "nodePodCIDRs: [10.9.0.0/24, 10.2.0.0/24]");
    let heartbeat = format!("{EAST}---{nodes}");
    let taken = answer(&known, Hook::MemberClusterAnnounce, "mc/east-token", "update", &heartbeat);
    assert_eq!(taken, "allowed", "networks of Nodes cost no heartbeat");
    known.learn("mc", Event::Announce(WatchEvent::Applied(objects(&nodes).remove(0))));
    let pod = |ip: &str| with(ENDPOINTS, "10.1.0.7", ip);
    check_in(&known, "mc/east-token", "create", &pod("10.9.0.7"), "allowed");
    let of_west = "403: 10.2.0.7 is in Service CIDR 10.2.0.0/16 of cluster west";
    check_in(&known, "mc/east-token", "create", &pod("10.2.0.7"), of_west);
    let info = with(INFO, "gatewayInfos", "podCIDRs: [10.9.0.0/24, 10.2.0.0/24], gatewayInfos");
    check_in(&known, "mc/east-token", "create", &info, "allowed");
}

#[test]
fn a_member_that_announced_no_networks_exports_what_nobody_else_has() {
    let of_old = |ip| with(&ENDPOINTS.replace("east", "old"), "10.1.0.7", ip);
    check("mc/old-token", "create", &of_old("203.0.113.7"), "allowed");
    check(
        "mc/old-token",
        "create",
        &of_old("10.2.0.1"),
        "403: 10.2.0.1 is in Service CIDR 10.2.0.0/16 of cluster west",
    );
    // Its ClusterInfo counts as an announce of networks.
    let known = known();
    let info = INFO.replace("east", "old").replace("10.1.0.0/16", "10.3.0.0/16");
    known.learn("mc", Event::Export(WatchEvent::Applied(exported(&objects(&info)[0]))));
    check_in(&known, "mc/old-token", "create", &of_old("10.3.0.1"), "allowed");
    check_in(
        &known,
        "mc/old-token",
        "create",
        &of_old("203.0.113.7"),
        "403: 203.0.113.7 is in no network that cluster old has announced",
    );
    check_in(
        &known,
        "mc/east-token",
        "create",
        &with(ENDPOINTS, "10.1.0.7", "10.3.0.1"),
        "403: 10.3.0.1 is in Service CIDR 10.3.0.0/16 of cluster old",
    );
}

#[test]
fn what_was_exported_before_does_not_stop_a_change() {
    let before = with(ENDPOINTS, "{ip: 10.1.0.7}", "{ip: 10.2.0.1}");
    check(
        "mc/east-token",
        "update",
        &update(&before, "{ip: 10.2.0.1}", "{ip: 10.2.0.1}, {ip: 10.1.0.8}"),
        "allowed",
    );
}

/// While it has some of them: the leader leaves the others out.
#[test]
fn a_cluster_info_tells_of_networks_of_others_only_beside_own_ones() {
    let info = |networks: &str| with(INFO, "serviceCIDR: 10.1.0.0/16", networks);
    for networks in ["serviceCIDR: 10.1.0.0/16, podCIDRs: [10.101.0.0/16]", "serviceCIDR: 10.2.0.0/16"] {
        check("mc/east-token", "create", &info(networks), "allowed");
    }
    let unsaid = update(INFO, "serviceCIDR: 10.1.0.0/16", "podCIDRs: [198.51.100.0/24]");
    check("mc/east-token", "update", &unsaid, "allowed");
    let world = "403: Pod CIDR 0.0.0.0/0 contains loopback, link-local, multicast or reserved addresses: name the networks of the cluster; Pod CIDR 0.0.0.0/0 overlaps Service CIDR 10.1.0.0/16 of cluster east: clusters of a ClusterSet need networks of their own; Pod CIDR 0.0.0.0/0 overlaps Service CIDR 10.2.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own";
    check("mc/old-token", "create", &info("podCIDRs: [0.0.0.0/0]").replace("east", "old"), world);
    check(
        "mc/east-token",
        "create",
        &with(INFO, "172.18.0.2", "10.2.0.9"),
        "403: gateway 10.2.0.9 is in Service CIDR 10.2.0.0/16 of cluster west",
    );
}

/// `east` as the leader has written it down, with what the younger member `north` claims.
fn with_north(networks: &str) -> Known {
    let known = known();
    let had = "status: {gateways: [{gatewayIP: 172.18.0.2, since: '2026-11-20T00:00:01Z'}]}\n";
    let north = "metadata: {name: member-announce-from-north, namespace: mc, creationTimestamp: '2026-11-22T00:00:00Z'}\n\
                 clusterID: north\nclusterSetID: set\nleaderClusterID: hub\n";
    for announce in [format!("{EAST}{had}"), format!("{north}serviceCIDRs: [{networks}]\n")] {
        known.learn("mc", Event::Announce(WatchEvent::Applied(objects(&announce).remove(0))));
    }
    known
}

/// The leader refuses the claim when it settles those of all.
#[test]
fn what_a_younger_member_claims_keeps_no_older_one_from_its_cluster_info() {
    for claimed in ["172.18.0.0/16", "10.1.0.0/16"] {
        let known = with_north(claimed);
        check_in(&known, "mc/east-token", "create", INFO, "allowed");
        check_in(&known, "mc/east-token", "create", &with(INFO, "172.18.0.2", "172.18.0.3"), "allowed");
        known.learn("mc", Event::Export(WatchEvent::Applied(exported(&objects(INFO)[0]))));
        let fails_over =
            update(INFO, "{gatewayIP: 172.18.0.2}", "{gatewayIP: 172.18.0.2}, {gatewayIP: 172.18.0.3}");
        check_in(&known, "mc/east-token", "update", &fails_over, "allowed");
    }
    let refused = "403: gateway 10.9.0.3 is in Service CIDR 10.9.0.0/16 of cluster north";
    let known = with_north("10.9.0.0/16");
    check_in(&known, "mc/east-token", "create", &with(INFO, "172.18.0.2", "10.9.0.3"), refused);
}

#[test]
fn so_many_gateways_are_named_and_no_more() {
    let named = |number: u8| {
        let gateways: Vec<String> =
            (1..=number).map(|host| format!("{{gatewayIP: 172.18.0.{host}}}")).collect();
        with(INFO, "{gatewayIP: 172.18.0.2}", &gateways.join(", "))
    };
    check("mc/east-token", "create", &named(8), "allowed");
    let refused = "422: spec.clusterInfo.gatewayInfos: there may be 8 at most, not 9";
    check("mc/east-token", "create", &named(9), refused);
}

/// `north` has what `east` gets as a second network. When the Node of its Gateway dies, it has another Gateway.
#[test]
fn a_cluster_info_with_a_network_of_another_is_let_in_and_its_new_gateway_counts() {
    let known = known();
    let north = "metadata: {name: member-announce-from-north, namespace: mc, creationTimestamp: '2026-11-22T00:00:00Z'}\n\
                 clusterID: north\nclusterSetID: set\nleaderClusterID: hub\nserviceCIDRs: [10.97.0.0/16]\n\
                 status: {networks: [{cidr: 10.97.0.0/16, since: '2026-11-22T00:00:01Z'}]}\n";
    let had = ["10.1.0.0/16", "10.101.0.0/16"]
        .map(|cidr| format!("{{cidr: {cidr}, since: '2026-11-20T00:00:01Z'}}"));
    let east = with(EAST, "[10.1.0.0/16]", "[10.1.0.0/16, 10.97.0.0/16]");
    let east = format!("{east}status: {{networks: [{}]}}\n", had.join(", "));
    for announce in [north, &east] {
        known.learn("mc", Event::Announce(WatchEvent::Applied(objects(announce).remove(0))));
    }
    known.learn("mc", Event::Export(WatchEvent::Applied(exported(&objects(INFO)[0]))));
    let both = "serviceCIDR: 10.1.0.0/16, serviceCIDRs: [10.1.0.0/16, 10.97.0.0/16]";
    let fails_over = with(&with(INFO, "serviceCIDR: 10.1.0.0/16", both), "172.18.0.2", "172.18.0.3");
    check_in(&known, "mc/east-token", "update", &format!("{INFO}---{fails_over}"), "allowed");
    check_in(&known, "mc/east-token", "create", &fails_over, "allowed");
}

#[test]
fn pods_that_others_may_reach_have_networks_of_their_own() {
    let known = known();
    let of_west = INFO
        .replace("east", "west")
        .replace("serviceCIDR: 10.1.0.0/16", "serviceCIDR: 10.2.0.0/16, podCIDRs: [10.102.0.0/16]");
    known.learn("mc", Event::Export(WatchEvent::Applied(exported(&objects(&of_west)[0]))));
    check_in(
        &known,
        "mc/old-token",
        "create",
        &with(&INFO.replace("east", "old"), "serviceCIDR: 10.1.0.0/16", "podCIDRs: [10.102.3.0/24]"),
        "403: Pod CIDR 10.102.3.0/24 overlaps Pod CIDR 10.102.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own",
    );
}

/// These networks are bound to `east`.
fn bind(known: &Known, networks: &str) {
    let account = format!(
        "metadata: {{name: east-token, annotations: {{multicluster.antrea.io/cluster-id: east, \
         multicluster.antrea.io/networks: '{networks}'}}}}"
    );
    known.learn("mc", Event::Account(WatchEvent::Applied(objects(&account).remove(0))));
}

/// `east` announces these networks of Services.
fn announce(known: &Known, networks: &str) -> String {
    let announce = with(EAST, "[10.1.0.0/16]", &format!("[{networks}]"));
    let both = format!("{EAST}---{announce}");
    let answer = answer(known, Hook::MemberClusterAnnounce, "mc/east-token", "update", &both);
    known.learn("mc", Event::Announce(WatchEvent::Applied(objects(&announce).remove(0))));
    answer
}

#[test]
fn networks_that_are_not_bound_may_be_announced_and_nothing_is_exported_in_them() {
    let known = known();
    assert_eq!(
        announce(&known, "10.1.0.0/16, 203.0.113.0/24"),
        "allowed",
        "a heartbeat is never lost to that"
    );
    let public = with(ENDPOINTS, "10.1.0.7", "203.0.113.7");
    check_in(&known, "mc/east-token", "create", &public, "allowed");
    let since = format!("{LEADER_SET}status: {{networkApprovalSince: '2026-11-20T00:00:00Z'}}\n");
    known.learn("mc", Event::ClusterSet(WatchEvent::Applied(objects(&since).remove(0))));
    let refused = "403: 203.0.113.7 is in Service CIDR 203.0.113.0/24, which no admin of the leader has bound to cluster east";
    check_in(&known, "mc/east-token", "create", &public, refused);
    check_in(&known, "mc/east-token", "create", ENDPOINTS, "allowed");
    bind(&known, "10.1.0.0/16,203.0.113.0/24");
    check_in(&known, "mc/east-token", "create", &public, "allowed");
}

#[test]
fn a_network_that_an_admin_bound_may_be_announced_whoever_says_that_it_has_it() {
    let (squatted, known) = ("10.1.0.0/16, 10.2.0.0/16", known());
    let refused = announce(&known, squatted);
    assert!(refused.starts_with("403: Service CIDR 10.2.0.0/16 overlaps"), "{refused}");
    bind(&known, squatted);
    assert_eq!(announce(&known, squatted), "allowed");
    let info = with(INFO, "serviceCIDR: 10.1.0.0/16", "serviceCIDR: 10.2.0.0/16");
    check_in(&known, "mc/east-token", "create", &info, "allowed");
}
