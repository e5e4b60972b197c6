//! Members that export as much as they may.

use antrea_mc_core::limits::Limits;

use super::imports::web;
use super::members::{SET, announce};
use super::world::World;

fn world(exports: usize) -> World {
    let objects = [SET.to_owned(), announce("east", 1, ""), web("east", 80, "10.100.0.1", 1)];
    let mut world = World::of(&objects.concat());
    world.limits = Limits { exports, ..Limits::default() };
    world.restart();
    world.actions();
    world.wait(1, &["east"]);
    world.actions();
    world
}

#[test]
fn a_member_at_its_limit_says_so() {
    let mut world = world(4);
    let more = web("east", 80, "10.100.0.1", 2).replace("web", "api");
    world.apply(&more);
    let actions = world.actions();
    let limit = "ExportLimit=True TooManyExports the member exports as much as it may: 4 Services, endpoints and \
                 ClusterInfos (leader.memberLimits.exports)\n";
    assert!(actions.contains(&format!("tell member-announce-from-east: {limit}")), "{actions}");
    assert!(
        actions.contains(&format!("    east: Ready=True Connected Member Connected | {limit}")),
        "{actions}"
    );
    world.restart();
    assert_eq!(world.actions(), "");
    world.delete("ResourceExport", "east-shop-api-service");
    let actions = world.actions();
    assert!(actions.contains("tell member-announce-from-east:\n"), "{actions}");
}

#[test]
fn what_was_over_the_limit_before_stays() {
    let mut world = world(1);
    assert!(world.has("ResourceImport", "shop-web-service"));
    world.apply(&web("east", 80, "10.100.0.2", 1));
    let actions = world.actions();
    assert!(actions.starts_with("change ResourceImport shop-web-endpoints "), "{actions}");
}

#[test]
fn what_is_noted_of_who_wrote_which_field_of_an_export_counts() {
    let mut world = world(100);
    world.limits = Limits { bytes: 10_000, ..Limits::default() };
    world.restart();
    assert_eq!(world.actions(), "");
    world.edit("ResourceExport", "east-shop-web-service", |export| {
        export["metadata"]["managedFields"] = serde_json::json!([{ "manager": "x".repeat(10_000) }]);
    });
    let actions = world.actions();
    assert!(actions.contains("tell member-announce-from-east: ExportLimit=True TooLarge "), "{actions}");
}
