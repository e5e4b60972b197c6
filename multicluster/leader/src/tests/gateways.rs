//! Gateways that two members name, one has had, or admins bind.

use std::time::Duration;

use serde_json::json;

use super::members::{SET, announce};
use super::networks::account;
use super::others::cluster_info;
use super::world::World;
use crate::action::{Action, Task};

/// An older member `old` and a younger one `new`, each with a Gateway that the leader has written down.
fn two() -> World {
    let objects = [
        SET.to_owned(),
        announce("old", 1, "serviceCIDRs: [10.103.0.0/16]"),
        announce("new", 2, "serviceCIDRs: [10.101.0.0/16]"),
        cluster_info("old", 3, "10.103.0.0/16", "172.18.3.1"),
        cluster_info("new", 4, "10.101.0.0/16", "172.18.1.1"),
    ];
    let mut world = World::of(&objects.concat());
    world.actions();
    world.wait(1, &["old", "new"]);
    world.actions();
    world
}

fn names_gateways(world: &mut World, cluster: &str, gateways: &[&str]) {
    world.edit("ResourceExport", &format!("{cluster}-clusterinfo"), |object| {
        let gateways: Vec<_> = gateways.iter().map(|address| json!({"gatewayIP": address})).collect();
        object["spec"]["clusterInfo"]["gatewayInfos"] = json!(gateways);
    });
}

#[test]
fn an_older_member_does_not_take_the_gateway_of_a_younger_one() {
    let mut world = two();
    names_gateways(&mut world, "old", &["172.18.3.1", "172.18.1.1"]);
    insta::assert_snapshot!(world.actions(), @r#"
    ClusterSet cs1: 2/2 Ready=True
        new: Ready=True Connected Member Connected | Conflict=True GatewayContested Gateway 172.18.1.1 is refused to cluster old, which names it as well
        old: Ready=True Connected Member Connected | Conflict=True GatewayRefused Gateway 172.18.1.1 is that of cluster new
    tell member-announce-from-new: Gateway 172.18.1.1 has 10.101.0.0/16 Conflict=True GatewayContested Gateway 172.18.1.1 is refused to cluster old, which names it as well
    tell member-announce-from-old: Gateway 172.18.3.1 has 10.103.0.0/16 Conflict=True GatewayRefused Gateway 172.18.1.1 is that of cluster new
    tell old-clusterinfo: Succeeded=True PartlyImported left out: Gateway 172.18.1.1 is that of cluster new
    "#);
    world.restart();
    assert_eq!(world.actions(), "", "what was written down decides, not who is told of first");
}

#[test]
fn a_member_whose_only_gateway_is_that_of_another_has_none() {
    let mut world = two();
    names_gateways(&mut world, "old", &["172.18.1.1"]);
    insta::assert_snapshot!(world.actions(), @r#"
    delete ResourceImport old-clusterinfo
    ClusterSet cs1: 2/2 Ready=True
        new: Ready=True Connected Member Connected | Conflict=True GatewayContested Gateway 172.18.1.1 is refused to cluster old, which names it as well
        old: Ready=True Connected Member Connected | Conflict=True GatewayRefused Gateway 172.18.1.1 is that of cluster new
    tell member-announce-from-new: Gateway 172.18.1.1 has 10.101.0.0/16 Conflict=True GatewayContested Gateway 172.18.1.1 is refused to cluster old, which names it as well
    tell member-announce-from-old: former 172.18.3.1 has 10.103.0.0/16 Conflict=True GatewayRefused Gateway 172.18.1.1 is that of cluster new
    tell old-clusterinfo: Failure=False ConvergeFailure Gateway 172.18.1.1 is that of cluster new
    "#);
}

/// The member may fail over to it again.
#[test]
fn a_gateway_that_a_member_had_is_nobody_elses_for_a_day() {
    let mut world = two();
    names_gateways(&mut world, "new", &["172.18.1.2"]);
    insta::assert_snapshot!(world.actions(), @r#"
    change ResourceImport new-clusterinfo {clusterinfo: {gatewayInfos: [{gatewayIP: 172.18.1.2}]}}
    tell member-announce-from-new: former 172.18.1.1 Gateway 172.18.1.2 has 10.101.0.0/16
    "#);
    names_gateways(&mut world, "old", &["172.18.3.1", "172.18.1.1"]);
    let refused =
        "Gateway 172.18.1.1 was that of cluster new less than a day ago: an admin of the leader may bind it";
    let actions = world.actions();
    assert!(
        actions.contains(&format!(
            "old: Ready=True Connected Member Connected | Conflict=True GatewayRefused {refused}\n"
        )),
        "{actions}"
    );
    assert!(!actions.contains("Contested") && !actions.contains("ResourceImport"), "{actions}");
    for gateways in [["172.18.1.1", "172.18.1.2"].as_slice(), &["172.18.1.1"], &["172.18.1.2"]] {
        names_gateways(&mut world, "new", gateways);
        world.actions();
        assert_eq!(imported(&world, "new"), gateways, "it fails over, and back");
    }
    world.restart();
    assert_eq!(world.actions(), "");
    world.time += Duration::from_secs(24 * 3600);
    world.touch("new");
    world.actions();
    assert_eq!(imported(&world, "old"), ["172.18.3.1", "172.18.1.1"]);
    let status = &world.object("MemberClusterAnnounce", "member-announce-from-new")["status"];
    assert_eq!(status["gateways"].as_array().unwrap().len(), 1);
}

#[test]
fn no_more_than_16_addresses_are_a_members_for_gateways_that_it_has_or_had() {
    let mut world = two();
    for round in 1..=5 {
        let gateways: Vec<String> = (1..=7).map(|host| format!("172.18.{}.{host}", 10 + round)).collect();
        names_gateways(&mut world, "new", &gateways.iter().map(String::as_str).collect::<Vec<_>>());
        world.wait(1, &[]);
        world.actions();
    }
    let status = &world.object("MemberClusterAnnounce", "member-announce-from-new")["status"];
    let held = status["gateways"].as_array().unwrap().iter();
    let held: Vec<&str> = held.map(|held| held["gatewayIP"].as_str().unwrap()).collect();
    assert_eq!(held.len(), 16, "{held:?}");
    for recent in ["172.18.15.7", "172.18.14.7"] {
        assert!(held.contains(&recent), "{held:?}");
    }
    assert_eq!(world.actions(), "");
}

/// The Gateways of a cluster that others import.
fn imported(world: &World, cluster: &str) -> Vec<String> {
    let info = world.object("ResourceImport", &format!("{cluster}-clusterinfo"));
    let gateways = info["spec"]["clusterinfo"]["gatewayInfos"].as_array().cloned().unwrap_or_default();
    gateways.iter().map(|gateway| gateway["gatewayIP"].as_str().unwrap().to_owned()).collect()
}

/// The ServiceAccount of a member, with the addresses of its Gateways.
fn bound(cluster: &str, gateways: &str) -> String {
    account(cluster, 20, &format!(", multicluster.antrea.io/gateways: '{gateways}'"))
}

#[test]
fn a_gateway_that_an_admin_bound_is_nobody_elses() {
    let mut world = two();
    names_gateways(&mut world, "old", &["172.18.3.1", "172.18.1.2"]);
    world.apply(&announce("third", 9, "serviceCIDRs: [172.18.0.0/24]"));
    world.actions();
    assert_eq!(imported(&world, "old"), ["172.18.3.1", "172.18.1.2"], "the next one of the other, perhaps");
    world.apply(&bound("new", "172.18.1.0/29, 172.18.0.5"));
    world.actions();
    assert_eq!(imported(&world, "old"), ["172.18.3.1"], "whether the other has a Gateway there or not");
    names_gateways(&mut world, "new", &["172.18.1.1", "172.18.1.2", "172.18.0.5", "172.18.9.9"]);
    let actions = world.actions();
    assert_eq!(imported(&world, "new"), ["172.18.1.1", "172.18.1.2", "172.18.0.5"]);
    for told in [
        "old: Ready=True Connected Member Connected | Conflict=True GatewayRefused Gateway 172.18.1.2 is bound to cluster new by an admin of the leader\n",
        "third: Ready=True Connected Member Connected | Conflict=True NetworkRefused Service CIDR 172.18.0.0/24 contains 172.18.0.5, a Gateway of cluster new: name the networks of the cluster\n",
        "new: Ready=True Connected Member Connected | Conflict=True GatewayRefused Gateway 172.18.9.9 is none of those that an admin of the leader has bound to cluster new; ",
    ] {
        assert!(actions.contains(told), "{told} is not in {actions}");
    }
    world.restart();
    assert_eq!(world.actions(), "");
    world.apply(&bound("new", "172.18.1.1, ten"));
    let actions = world.actions();
    let unreadable = "annotation multicluster.antrea.io/gateways of ServiceAccount new-token: \"ten\" is neither an address nor a network";
    assert!(actions.contains(unreadable), "{actions}");
    assert_eq!(imported(&world, "new"), ["172.18.1.1"]);
}

#[test]
fn what_two_members_named_before_it_was_written_down_is_that_of_the_older_one() {
    let mut world = two();
    for cluster in ["old", "new"] {
        world.edit("MemberClusterAnnounce", &format!("member-announce-from-{cluster}"), |object| {
            object["status"] = json!({});
        });
    }
    names_gateways(&mut world, "old", &["172.18.3.1", "172.18.1.1"]);
    world.restart();
    insta::assert_snapshot!(world.actions(), @r#"
    delete ResourceImport new-clusterinfo
    change ResourceImport old-clusterinfo {clusterinfo: {gatewayInfos: [{gatewayIP: 172.18.3.1}, {gatewayIP: 172.18.1.1}]}}
    ClusterSet cs1: 2/2 Ready=True
        new: Ready=True Connected Member Connected | Conflict=True GatewayRefused Gateway 172.18.1.1 is that of cluster old
        old: Ready=True Connected Member Connected | Conflict=True GatewayContested Gateway 172.18.1.1 is refused to cluster new, which names it as well
    tell member-announce-from-new: has 10.101.0.0/16 Conflict=True GatewayRefused Gateway 172.18.1.1 is that of cluster old
    tell member-announce-from-old: Gateway 172.18.1.1 Gateway 172.18.3.1 has 10.103.0.0/16 Conflict=True GatewayContested Gateway 172.18.1.1 is refused to cluster new, which names it as well
    tell new-clusterinfo: Failure=False ConvergeFailure Gateway 172.18.1.1 is that of cluster old
    "#);
}

#[test]
fn no_network_is_around_the_gateway_of_an_older_member() {
    let mut world = two();
    world.apply(&announce("third", 9, "serviceCIDRs: [172.18.0.0/16]"));
    insta::assert_snapshot!(world.actions(), @r#"
    ClusterSet cs1: 3/3 Ready=True
        new: Ready=True Connected Member Connected | Conflict=True NetworkContested Gateway 172.18.1.1 is in Service CIDR 172.18.0.0/16 of cluster third, which is refused
        old: Ready=True Connected Member Connected | Conflict=True NetworkContested Gateway 172.18.3.1 is in Service CIDR 172.18.0.0/16 of cluster third, which is refused
        third: Ready=True Connected Member Connected | Conflict=True NetworkRefused Service CIDR 172.18.0.0/16 contains 172.18.1.1, a Gateway of cluster new: name the networks of the cluster; Service CIDR 172.18.0.0/16 contains 172.18.3.1, a Gateway of cluster old: name the networks of the cluster
    tell member-announce-from-new: Gateway 172.18.1.1 has 10.101.0.0/16 Conflict=True NetworkContested Gateway 172.18.1.1 is in Service CIDR 172.18.0.0/16 of cluster third, which is refused
    tell member-announce-from-old: Gateway 172.18.3.1 has 10.103.0.0/16 Conflict=True NetworkContested Gateway 172.18.3.1 is in Service CIDR 172.18.0.0/16 of cluster third, which is refused
    keep finalizers ["memberclusterannounce.finalizer.antrea.io/third"] of MemberClusterAnnounce member-announce-from-third
    tell member-announce-from-third: Conflict=True NetworkRefused Service CIDR 172.18.0.0/16 contains 172.18.1.1, a Gateway of cluster new: name the networks of the cluster; Service CIDR 172.18.0.0/16 contains 172.18.3.1, a Gateway of cluster old: name the networks of the cluster
    "#);
}

#[test]
fn a_gateway_that_moves_merges_no_endpoints() {
    let mut world = two();
    world.apply(&super::imports::web("new", 80, "10.101.0.1", 5));
    world.actions();
    let before = world.area.census().merges;
    names_gateways(&mut world, "new", &["172.18.1.7"]);
    insta::assert_snapshot!(world.actions(), @r#"
    change ResourceImport new-clusterinfo {clusterinfo: {gatewayInfos: [{gatewayIP: 172.18.1.7}]}}
    tell member-announce-from-new: former 172.18.1.1 Gateway 172.18.1.7 has 10.101.0.0/16
    "#);
    assert_eq!(world.area.census().merges - before, 1);
}

/// In a network of Services that others do not use: nobody claims that, and clusters make a route to it all the same.
#[test]
fn a_gateway_takes_itself_out_of_what_others_merely_tell() {
    let told = "serviceCIDRs: [10.102.0.0/16, 172.18.128.0/17]";
    let pods = "podCIDRs: [10.112.0.0/16]";
    let info = cluster_info("m", 3, "10.102.0.0/16", "172.18.2.1");
    let objects = [
        SET.to_owned(),
        announce("m", 1, &format!("{told}\n{pods}\nendpointIPType: PodIP")),
        announce("v", 2, "serviceCIDRs: [10.101.0.0/16]"),
        info.replace("gatewayInfos", &format!("{told}, {pods}, gatewayInfos")),
        cluster_info("v", 4, "10.101.0.0/16", "172.18.1.1"),
        super::imports::web("m", 80, "10.112.0.1", 5),
    ];
    let imported_networks = |world: &World| {
        world.object("ResourceImport", "m-clusterinfo")["spec"]["clusterinfo"]["serviceCIDRs"].clone()
    };
    for account in [String::new(), bound("v", "172.18.1.1, 172.18.200.1")] {
        let mut world = World::of(&(objects.concat() + &account));
        world.actions();
        assert_eq!(imported_networks(&world), json!(["10.102.0.0/16", "172.18.128.0/17"]));
        let before = world.area.census().merges;
        names_gateways(&mut world, "v", &["172.18.200.1"]);
        world.actions();
        assert_eq!(imported_networks(&world), json!(["10.102.0.0/16"]), "{account}");
        assert_eq!(imported(&world, "v"), ["172.18.200.1"], "{account}");
        assert_eq!(world.area.census().merges - before, 2, "both ClusterInfos, and no endpoints");
    }
}

#[test]
fn what_a_member_has_is_written_into_its_announce_as_it_was_seen() {
    let mut world = two();
    let name = "member-announce-from-new";
    let planned = |world: &World| match world.area.plan(&Task::Announce(name.to_owned()), world.time) {
        Some(Action::WriteAnnounceStatus(change)) => change.version,
        other => panic!("{other:?}"),
    };
    let version = |world: &World| {
        let version = &world.object("MemberClusterAnnounce", name)["metadata"]["resourceVersion"];
        version.as_str().map(str::to_owned)
    };
    names_gateways(&mut world, "old", &["172.18.3.1", "172.18.1.1"]);
    world.area.settle(world.now);
    assert_eq!(planned(&world), None, "it is told something, and has what it had");
    world.touch("new");
    world.actions();
    names_gateways(&mut world, "new", &["172.18.1.1", "172.18.1.2"]);
    world.area.settle(world.now);
    assert_eq!(planned(&world), version(&world), "a list that gets longer is replaced as well");
    world.touch("new");
    world.actions();
    world.apply(&bound("new", "172.18.1.1"));
    world.area.settle(world.now);
    assert_eq!(planned(&world), version(&world));
    world.touch("new");
    assert_eq!(planned(&world), version(&world), "it is planned again on what is there then");
    world.actions();
    let status = &world.object("MemberClusterAnnounce", name)["status"];
    assert_eq!(status["gateways"].as_array().unwrap().len(), 1);
}

#[test]
fn a_member_that_joins_has_its_own_exports_merged_and_no_others() {
    let mut world = two();
    for number in 0..20 {
        world
            .apply(&super::imports::web("old", 80, "10.103.0.1", 5).replace("web", &format!("web-{number}")));
    }
    world.actions();
    let before = world.area.census().merges;
    world.apply(&announce("third", 9, "serviceCIDRs: [10.104.0.0/16]"));
    world.apply(&cluster_info("third", 10, "10.104.0.0/16", "172.18.4.1"));
    world.apply(&super::imports::web("third", 80, "10.104.0.1", 11));
    world.actions();
    let merges = world.area.census().merges - before;
    assert!(merges <= 6, "{merges} merges for a Service, its endpoints and a ClusterInfo");
}

#[test]
fn networks_that_were_not_announced_are_left_out() {
    let mut world = two();
    world.edit("ResourceExport", "new-clusterinfo", |object| {
        object["spec"]["clusterInfo"]["serviceCIDRs"] = json!(["10.101.0.0/16", "1.1.1.0/24"]);
    });
    insta::assert_snapshot!(world.actions(), @r#"
    change ResourceImport new-clusterinfo {clusterinfo: {serviceCIDRs: [10.101.0.0/16]}}
    tell new-clusterinfo: Succeeded=True PartlyImported left out: 1.1.1.0/24 is in no network that cluster new has announced
    "#);
}
