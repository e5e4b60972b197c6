//! An API server that drops fields, because its CustomResourceDefinitions lack them.

use super::imports::web;
use super::members::{SET, announce};
use super::world::World;

#[test]
fn fields_that_the_api_server_drops_are_not_written_again_and_again() {
    let mut world = World::of(&web("east", 80, "10.100.0.1", 1));
    world.dropped = vec!["clusters", "sessionAffinity"];
    world.actions();
    assert_eq!(world.actions(), "");
    world.edit("ResourceImport", "shop-web-endpoints", |import| {
        import["spec"]["endpoints"] = serde_json::json!({});
    });
    assert_eq!(world.actions().lines().count(), 1, "drift is repaired nevertheless");
}

#[test]
fn what_was_dropped_is_written_again_when_imports_are_listed_anew() {
    let mut world = World::of(&web("east", 80, "10.100.0.1", 1));
    world.dropped = vec!["clusters", "sessionAffinity"];
    world.actions();
    world.list_anew();
    assert_eq!(world.actions().lines().count(), 2, "it is tried once");
    assert_eq!(world.actions(), "");
    world.dropped.clear();
    world.list_anew();
    insta::assert_snapshot!(world.actions(), @"
    change ResourceImport shop-web-endpoints {endpoints: {clusters: [{clusterID: east, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.100.0.1]}]}]}]}}
    change ResourceImport shop-web-service {serviceImport: {spec: {sessionAffinity: None}, status: {clusters: [{cluster: east}]}}}
    ");
}

#[test]
fn a_status_that_is_not_kept_at_all_is_written_once() {
    let networks = "serviceCIDRs: [10.100.0.0/16]";
    let objects = [SET.to_owned(), announce("east", 1, networks), announce("west", 2, networks)];
    let mut world = World::of(&objects.concat());
    world.dropped = vec!["conditions"];
    world.actions();
    world.wait(20, &["east", "west"]);
    assert!(world.actions().contains("2/2 Ready=True"), "both were heard");
    world.wait(20, &["east", "west"]);
    assert_eq!(world.actions(), "");
}

#[test]
fn what_was_dropped_of_a_status_is_written_again_when_its_kind_is_listed_anew() {
    let networks = "serviceCIDRs: [10.100.0.0/16]";
    let useless = web("east", 80, "10.100.0.1", 1).replace("kind: Service,", "kind: Nonsense,");
    let objects = [SET.to_owned(), announce("east", 1, networks), announce("west", 2, networks), useless];
    let mut world = World::of(&objects.concat());
    world.dropped = vec!["message"];
    world.actions();
    assert_eq!(world.actions(), "");
    world.dropped.clear();
    world.list_anew();
    let written = world.actions();
    for status in ["ClusterSet cs1: ", "tell member-announce-from-east: ", "tell east-shop-web-service: "] {
        assert!(written.contains(status), "{status} is not in {written}");
    }
}
