//! A Common Area that upstream's leader has kept so far, recorded with the golden files of `antrea-mc-core`.

use super::world::World;

#[track_caller]
fn check(recorded: &str) {
    let mut world = World::of(recorded);
    let actions = world.actions();
    for line in actions.lines() {
        let says_more = line.starts_with("change ResourceImport ") || line.starts_with("tell ");
        assert!(says_more, "members of upstream would notice: {line}");
    }
    assert!(!actions.contains("Failure"), "{actions}");
    world.restart();
    assert_eq!(world.actions(), "");
}

#[test]
fn services_networks_and_policies_of_upstream_stay() {
    check(include_str!("../../../core/tests/golden/08-acnp.yaml"));
}

#[test]
fn labels_of_upstream_keep_their_numbers() {
    check(include_str!("../../../core/tests/golden/11-stretched.yaml"));
}

#[test]
fn pods_of_upstream_stay_reachable() {
    check(include_str!("../../../core/tests/golden/12-podip.yaml"));
}
