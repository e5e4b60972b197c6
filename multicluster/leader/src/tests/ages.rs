//! How old exports are, whatever they say.

use serde_json::json;

use super::imports::web;
use super::networks::account;
use super::world::World;

/// What a cluster exports, with the time that it says its ServiceExport to be of.
fn of_age(cluster: &str, port: u16, created: &str) -> String {
    let origin =
        format!("service: {{origin: {{creationTimestamp: '{created}', type: ClusterSetIP}}, serviceSpec");
    web(cluster, port, "10.100.0.1", 1).replace("service: {serviceSpec", &origin)
}

/// The port that is imported.
fn port(world: &World) -> u64 {
    let import = world.object("ResourceImport", "shop-web-service");
    import["spec"]["serviceImport"]["spec"]["ports"][0]["port"].as_u64().unwrap()
}

#[test]
fn an_export_is_not_older_than_its_member() {
    let objects = [
        account("east", 20, ""),
        account("west", 21, ""),
        of_age("east", 80, "2026-11-20T10:00:00Z"),
        of_age("west", 81, "1970-01-01T00:00:00Z"),
    ];
    let mut world = World::of(&objects.concat());
    let actions = world.actions();
    assert_eq!(port(&world), 80);
    assert!(
        actions.contains("tell west-shop-web-service: Succeeded=True | Conflict=True PortConflict"),
        "{actions}"
    );
    world.apply(&account("west", 19, ""));
    world.actions();
    assert_eq!(port(&world), 81, "now it has been a member for as long as it says");
}

/// Its exports count until they are removed. No leader may take what they say of their age for more than it is.
#[test]
fn an_export_of_no_member_is_as_old_as_its_object() {
    let objects = [
        account("east", 20, ""),
        account("west", 21, ""),
        of_age("east", 80, "2026-11-20T10:00:00Z"),
        of_age("west", 81, "1970-01-01T00:00:00Z"),
    ];
    let mut world = World::of(&objects.concat());
    world.actions();
    world.delete("ServiceAccount", "west-token");
    world.actions();
    assert_eq!(port(&world), 80);
    world.restart();
    world.actions();
    assert_eq!(port(&world), 80);
}

#[test]
fn a_member_with_a_new_account_is_as_old_as_its_announce() {
    let objects = [
        account("west", 22, ""),
        super::members::announce("west", 1, ""),
        of_age("east", 80, "2026-11-21T10:00:00Z"),
        of_age("west", 81, "2026-11-21T09:00:00Z"),
    ];
    let mut world = World::of(&objects.concat());
    world.actions();
    assert_eq!(port(&world), 81);
}

#[test]
fn an_export_gets_no_older_by_an_update() {
    let objects = [
        account("east", 20, ""),
        account("west", 20, ""),
        of_age("east", 80, "2026-11-20T10:00:00Z"),
        of_age("west", 81, "2026-11-21T09:00:00Z"),
    ];
    let mut world = World::of(&objects.concat());
    world.actions();
    world.edit("ResourceExport", "west-shop-web-service", |export| {
        export["spec"]["service"]["origin"]["creationTimestamp"] = json!("2026-11-20T01:00:00Z");
    });
    assert_eq!(world.actions(), "");
    assert_eq!(port(&world), 80);
    // What an export said first is remembered by nobody but the leader that heard it. A member can say an earlier time,
    // and wait for another leader: never one from before it was a member.
    world.restart();
    world.actions();
    assert_eq!(port(&world), 81);
}
