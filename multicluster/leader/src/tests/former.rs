//! Networks that members had a short time ago.

use std::time::Duration;

use serde_json::{Value, json};

use super::imports::web;
use super::members::{SET, announce};
use super::networks::account;
use super::others::cluster_info;
use super::world::World;

/// A member `v`, and an older one, `e`, which claims the network of that as well, and waits.
fn waiting() -> World {
    let objects = [
        SET.to_owned(),
        announce("e", 1, "serviceCIDRs: [10.103.0.0/16]"),
        announce("v", 2, "serviceCIDRs: [10.101.0.0/16]"),
    ];
    let mut world = World::of(&objects.concat());
    world.actions();
    claims(&mut world, "e", &["10.103.0.0/16", "10.101.0.0/16"]);
    world.wait(1, &["e", "v"]);
    world.actions();
    assert_eq!(written(&world, "e"), "10.103.0.0/16");
    world
}

fn claims(world: &mut World, cluster: &str, networks: &[&str]) {
    world.edit("MemberClusterAnnounce", &format!("member-announce-from-{cluster}"), |announce| {
        announce["serviceCIDRs"] = json!(networks);
    });
}

/// The networks that are written down of a member.
fn written(world: &World, cluster: &str) -> String {
    let announce = world.object("MemberClusterAnnounce", &format!("member-announce-from-{cluster}"));
    let networks = announce["status"]["networks"].as_array().cloned().unwrap_or_default();
    let text = |held: &Value| {
        let former = if held["formerSince"].is_null() { "" } else { "former " };
        format!("{former}{}", held["cidr"].as_str().unwrap())
    };
    networks.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_network_that_a_member_had_is_nobody_elses_for_a_day() {
    let mut world = waiting();
    claims(&mut world, "v", &["10.102.0.0/16"]);
    let actions = world.actions();
    let refused = "NetworkRefused Service CIDR 10.101.0.0/16 overlaps 10.101.0.0/16, which was that of cluster v less than a \
                   day ago: an admin of the leader may bind it\n";
    assert!(actions.contains(refused) && !actions.contains("NetworkContested"), "{actions}");
    assert_eq!(written(&world, "v"), "former 10.101.0.0/16, 10.102.0.0/16");
    assert_eq!(written(&world, "e"), "10.103.0.0/16");
    world.restart();
    assert_eq!(world.actions(), "");
    world.time += Duration::from_secs(3600);
    claims(&mut world, "v", &["10.101.0.0/16"]);
    let actions = world.actions();
    assert_eq!(written(&world, "v"), "10.101.0.0/16, former 10.102.0.0/16", "{actions}");
    claims(&mut world, "v", &[]);
    world.actions();
    assert_eq!(written(&world, "v"), "former 10.101.0.0/16, former 10.102.0.0/16", "it names none at all");
    world.time += Duration::from_secs(23 * 3600);
    world.touch("v");
    world.actions();
    assert_eq!(written(&world, "v"), "former 10.101.0.0/16, former 10.102.0.0/16");
    world.time += Duration::from_secs(3600);
    world.touch("v");
    world.actions();
    assert_eq!(written(&world, "v"), "");
    assert_eq!(written(&world, "e"), "10.101.0.0/16, 10.103.0.0/16");
}

#[test]
fn an_admin_gives_a_network_that_a_member_had_to_another_one() {
    let mut world = waiting();
    claims(&mut world, "v", &["10.102.0.0/16"]);
    world.actions();
    world.apply(&account("e", 20, ", multicluster.antrea.io/networks: '10.101.0.0/16,10.103.0.0/16'"));
    world.actions();
    assert_eq!(written(&world, "e"), "10.101.0.0/16, 10.103.0.0/16");
    assert_eq!(written(&world, "v"), "10.102.0.0/16");
}

#[test]
fn a_member_keeps_no_network_from_others_that_no_admin_lets_it_have() {
    let mut world = waiting();
    world.apply(&account("v", 20, ", multicluster.antrea.io/networks: '10.102.0.0/16'"));
    claims(&mut world, "v", &["10.102.0.0/16"]);
    world.actions();
    assert_eq!(written(&world, "e"), "10.101.0.0/16, 10.103.0.0/16");
}

#[test]
fn in_a_network_that_a_member_had_nobody_exports_anything_and_others_make_no_route_to_themselves() {
    let mut world = waiting();
    claims(&mut world, "v", &["10.102.0.0/16"]);
    claims(&mut world, "e", &["10.103.0.0/16"]);
    world.actions();
    world.apply(&web("v", 80, "10.101.0.9", 5));
    let actions = world.actions();
    let told = "left out: 10.101.0.9 is in no network that cluster v has announced\n";
    assert!(actions.contains(told), "{actions}");
    let upstream = announce("u", 3, "") + &web("u", 80, "10.101.0.9", 6);
    world.apply(&upstream);
    let actions = world.actions();
    let told = "left out: 10.101.0.9 is in 10.101.0.0/16, which was that of cluster v less than a day ago\n";
    assert!(actions.contains(told), "{actions}");
    let pods =
        announce("p", 4, "serviceCIDRs: [10.101.0.0/16]\npodCIDRs: [10.112.0.0/16]\nendpointIPType: PodIP");
    let info = cluster_info("p", 7, "10.101.0.0/16", "172.18.4.1");
    world.apply(&(pods + &info));
    let actions = world.actions();
    let told = "left out: Service CIDR 10.101.0.0/16 overlaps 10.101.0.0/16, which was that of cluster v less than a day ago";
    assert!(actions.contains(told), "{actions}");
    assert_eq!(
        world.object("ResourceImport", "p-clusterinfo")["spec"]["clusterinfo"]["serviceCIDR"],
        json!(null)
    );
    world.time += Duration::from_secs(24 * 3600);
    world.touch("v");
    let actions = world.actions();
    assert!(actions.contains("tell u-shop-web-endpoints: Succeeded=True\n"), "{actions}");
    assert_eq!(
        world.object("ResourceImport", "p-clusterinfo")["spec"]["clusterinfo"]["serviceCIDR"],
        "10.101.0.0/16"
    );
}

/// The Gateways of a cluster that others import.
fn gateways(world: &World, cluster: &str) -> Value {
    world.object("ResourceImport", &format!("{cluster}-clusterinfo"))["spec"]["clusterinfo"]["gatewayInfos"]
        .clone()
}

/// It would keep the network from its owner.
#[test]
fn in_a_network_that_a_member_had_nobody_else_has_a_gateway_for_a_day() {
    let mut world = waiting();
    claims(&mut world, "e", &["10.103.0.0/16"]);
    claims(&mut world, "v", &["10.102.0.0/16"]);
    world.actions();
    world.apply(&cluster_info("e", 5, "10.103.0.0/16", "172.18.1.1, 10.101.7.7"));
    let actions = world.actions();
    let refused = "Conflict=True GatewayRefused Gateway 10.101.7.7 is in 10.101.0.0/16, which was that of cluster v less than a \
                   day ago: an admin of the leader may bind the Gateway\n";
    assert!(actions.contains(refused), "{actions}");
    assert_eq!(gateways(&world, "e"), json!([{"gatewayIP": "172.18.1.1"}]));
    world.restart();
    assert_eq!(world.actions(), "");
    claims(&mut world, "v", &["10.101.0.0/16"]);
    let actions = world.actions();
    assert_eq!(written(&world, "v"), "10.101.0.0/16, former 10.102.0.0/16", "{actions}");
    claims(&mut world, "v", &["10.102.0.0/16"]);
    world.actions();
    world.time += Duration::from_secs(24 * 3600);
    world.touch("v");
    world.actions();
    let both = json!([{"gatewayIP": "172.18.1.1"}, {"gatewayIP": "10.101.7.7"}]);
    assert_eq!(gateways(&world, "e"), both);
}

#[test]
fn an_admin_binds_a_gateway_in_a_network_that_another_member_had() {
    let mut world = waiting();
    claims(&mut world, "e", &["10.103.0.0/16"]);
    claims(&mut world, "v", &["10.102.0.0/16"]);
    world.actions();
    let bound = account("e", 20, ", multicluster.antrea.io/gateways: '10.101.7.7'");
    world.apply(&(bound + &cluster_info("e", 5, "10.103.0.0/16", "10.101.7.7")));
    world.actions();
    assert_eq!(gateways(&world, "e"), json!([{"gatewayIP": "10.101.7.7"}]));
    world.restart();
    assert_eq!(world.actions(), "");
}

/// A leader of the version before let a member have a Gateway there, perhaps the only one that it has.
#[test]
fn a_gateway_that_is_written_down_stays_in_a_network_that_another_member_had_until_that_claims_it_again() {
    let mut world = waiting();
    claims(&mut world, "e", &["10.103.0.0/16"]);
    claims(&mut world, "v", &["10.102.0.0/16"]);
    world.actions();
    world.edit("MemberClusterAnnounce", "member-announce-from-e", |announce| {
        announce["status"]["gateways"] =
            json!([{"gatewayIP": "10.101.7.7", "since": "2026-11-21T10:00:00Z"}]);
    });
    world.apply(&cluster_info("e", 5, "10.103.0.0/16", "10.101.7.7, 10.101.7.8"));
    world.restart();
    let actions = world.actions();
    let refused = "GatewayRefused Gateway 10.101.7.8 is in 10.101.0.0/16, which was that of cluster v less than a day ago";
    assert!(actions.contains(refused), "another one is new: {actions}");
    assert!(!actions.contains("Gateway 10.101.7.7 is in"), "{actions}");
    assert_eq!(gateways(&world, "e"), json!([{"gatewayIP": "10.101.7.7"}]));
    world.restart();
    assert_eq!(world.actions(), "");
    claims(&mut world, "v", &["10.101.0.0/16"]);
    let actions = world.actions();
    assert_eq!(written(&world, "v"), "10.101.0.0/16, former 10.102.0.0/16", "{actions}");
    assert!(!world.has("ResourceImport", "e-clusterinfo"), "{actions}");
}
