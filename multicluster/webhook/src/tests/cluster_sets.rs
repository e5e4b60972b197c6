//! ClusterSets.

use antrea_kit::watch::WatchEvent;

use super::{LEADER_SET, answer, known, objects};
use crate::{Event, Hook, Known};

#[track_caller]
fn check_in(known: &Known, who: &str, verb: &str, yaml: &str, expected: &str) {
    assert_eq!(answer(known, Hook::ClusterSet, who, verb, yaml), expected, "{who} {verb}");
}

#[track_caller]
fn check(who: &str, verb: &str, yaml: &str, expected: &str) {
    check_in(&known(), who, verb, yaml, expected);
}

const MEMBER_SET: &str = "
metadata: {name: set, namespace: kube-system}
spec: {clusterID: east, namespace: mc, leaders: [{clusterID: hub, server: 'https://192.0.2.1:6443', secret: token}]}
";

#[test]
fn a_namespace_has_one_cluster_set() {
    check("admin", "create", MEMBER_SET, "allowed");
    check("admin", "create", LEADER_SET, "allowed");
    check(
        "admin",
        "create",
        &LEADER_SET.replace("name: set", "name: other"),
        "412: there is ClusterSet set in Namespace mc already: a Namespace has one; delete that one first",
    );
    check("admin", "create", &LEADER_SET.replace("namespace: mc", "namespace: elsewhere"), "allowed");
}

#[test]
fn ids_are_constant_and_fields_are_valid() {
    let update = |from: &str, to: &str| format!("{MEMBER_SET}---{}", MEMBER_SET.replace(from, to));
    check(
        "admin",
        "update",
        &update("clusterID: east", "clusterID: west"),
        "422: spec.clusterID: cannot be changed",
    );
    check(
        "admin",
        "update",
        &update("clusterID: hub", "clusterID: bub"),
        "422: spec.leaders[0].clusterID: cannot be changed",
    );
    check("admin", "update", &update("secret: token", "secret: token-2"), "allowed");
    check(
        "admin",
        "create",
        &MEMBER_SET.replace("https:", "http:"),
        "422: spec.leaders[0].server: \"http://192.0.2.1:6443\" is not the URL of an API server, as https://192.0.2.1:6443",
    );
    check("admin", "create", &MEMBER_SET.replace("clusterID: east, ", ""), "422: spec.clusterID: is missing");
}

#[test]
fn the_set_of_a_leader_stays_as_long_as_it_has_members() {
    let refused = "412: clusters are still members: east, old, west; run \"antctl mc leave\" in each, or delete the MemberClusterAnnounce of one that is gone for good";
    check("admin", "delete", LEADER_SET, refused);
    check("admin", "delete", MEMBER_SET, "allowed");
    check("kube-system/namespace-controller", "delete", LEADER_SET, "allowed");
    let known = known();
    known.learn("mc", Event::Announce(WatchEvent::Resynced(Vec::new())));
    check_in(&known, "admin", "delete", LEADER_SET, "allowed");
}

#[test]
fn programs_that_may_write_cluster_sets_do() {
    // The Job of the chart is one of the Common Area.
    for who in ["argo/argo", "mc/antrea-mc-cluster-set"] {
        check(who, "create", LEADER_SET, "allowed");
    }
    let controller = "kube-system/antrea-mc-controller";
    check(controller, "status", &format!("{LEADER_SET}---{LEADER_SET}"), "allowed");
    check("kubelet", "create", LEADER_SET, "403: user \"system:node:n1\" is no admin of the ClusterSet");
}

#[test]
fn nothing_is_decided_before_the_sets_are_known() {
    let known = Known::new(super::installation());
    let unknown =
        "503: the Multi-cluster controller has not read the ClusterSets of this Namespace yet: try again";
    check_in(&known, "admin", "create", MEMBER_SET, unknown);
    known.learn("kube-system", Event::ClusterSet(WatchEvent::Resynced(objects(MEMBER_SET))));
    check_in(&known, "admin", "create", MEMBER_SET, "allowed");
}
