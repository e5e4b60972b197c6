//! A Common Area that upstream's leader has kept so far, recorded with the golden files of `antrea-mc-core`.

use super::imports::web;
use super::members::{SET, announce};
use super::world::World;

/// Upstream's own members notice nothing.
#[track_caller]
fn check(recorded: &str) {
    check_but(recorded, &[]);
}

/// The same, but for these requests, which have to come.
#[track_caller]
fn check_but(recorded: &str, exceptions: &[&str]) {
    let mut world = World::of(recorded);
    let actions = world.actions();
    for exception in exceptions {
        assert!(actions.lines().any(|line| line.starts_with(exception)), "no {exception} in\n{actions}");
    }
    for line in actions.lines().filter(|line| !exceptions.iter().any(|other| line.starts_with(other))) {
        let says_more = line.starts_with("change ResourceImport ") || line.starts_with("tell ");
        assert!(says_more && !line.contains("Failure"), "members of upstream would notice: {line}");
    }
    world.restart();
    assert_eq!(world.actions(), "");
}

/// Numbers of labels that nobody exports any more, which upstream has leaked.
const LEAKED: [&str; 3] = [
    "delete ResourceImport 0bf438e5e1576bf9",
    "delete ResourceImport 3c62ea4851ac2068",
    "delete ResourceImport 54fb98d2754bfaec",
];

#[test]
fn a_member_of_upstream_with_a_dot_in_its_id_stays_one() {
    let objects = [SET.to_owned(), announce("east.eu", 1, ""), web("east.eu", 80, "10.100.0.1", 1)];
    let mut world = World::of(&objects.concat());
    world.actions();
    let import = world.object("ResourceImport", "shop-web-service");
    assert_eq!(import["spec"]["serviceImport"]["status"]["clusters"][0]["cluster"], "east.eu");
    world.wait(1, &["east.eu"]);
    let status = world.actions();
    assert!(status.contains("ClusterSet cs1: 1/1 Ready=True"), "{status}");
}

/// Nothing is withdrawn, and members are told what is written down of them.
#[test]
fn what_the_version_before_has_left_stays() {
    let recorded = include_str!("../../../core/tests/golden/version-before.yaml");
    check_but(recorded, &["ClusterSet ", "    cluster-"]);
}

#[test]
fn networks_of_upstream_stay() {
    check(include_str!("../../../core/tests/golden/02-gateway.yaml"));
}

#[test]
fn services_of_upstream_stay() {
    check(include_str!("../../../core/tests/golden/03-export-clusterip.yaml"));
}

#[test]
fn services_with_conflicts_of_upstream_stay() {
    // Upstream refuses the younger export as well, and imports the older one alone.
    let refused = ["tell c6-shop-web-service: Failure", "tell c6-shop-web-endpoints: Failure"];
    check_but(include_str!("../../../core/tests/golden/04-conflict-port-change.yaml"), &refused);
    check_but(include_str!("../../../core/tests/golden/05-conflict-from-start.yaml"), &refused);
    check(include_str!("../../../core/tests/golden/06-conflict-first-leaves.yaml"));
}

#[test]
fn what_upstream_left_after_refusals_stays() {
    check(include_str!("../../../core/tests/golden/07-export-refusals.yaml"));
}

#[test]
fn policies_that_upstream_had_trouble_with_stay() {
    let recorded = include_str!("../../../core/tests/golden/09-acnp-problems.yaml");
    check_but(recorded, &["tell strict2: Failure=False ConvergeFailure differs from ResourceExport strict"]);
}

#[test]
fn a_policy_whose_deletion_upstream_never_ended_goes_and_the_others_stay() {
    let recorded = include_str!("../../../core/tests/golden/10-acnp-deleted.yaml");
    check_but(recorded, &["keep finalizers [] of ResourceExport strict2"]);
}

#[test]
fn services_whose_names_collide_at_upstream_stay() {
    // Of two that had one name at upstream the second comes beside the first; what upstream has lost comes back.
    let created = "create ResourceImport ";
    let recorded = include_str!("../../../core/tests/golden/14-name-collision.yaml");
    check_but(recorded, &[LEAKED.as_slice(), &[created]].concat());
}

#[test]
fn services_stay_and_networks_that_a_member_has_forged_go() {
    let recorded = include_str!("../../../core/tests/golden/16-unexport.yaml");
    let members = announce("c5", 0, "") + &announce("c6", 1, "");
    let forged = [
        "keep finalizers [\"memberclusterannounce.finalizer.antrea.io/c",
        "change ResourceImport c6-clusterinfo {clusterinfo: {serviceCIDR: null, podCIDRs: null}}",
    ];
    check_but(&(members + recorded), &[LEAKED.as_slice(), &forged].concat());
}
