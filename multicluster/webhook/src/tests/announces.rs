//! MemberClusterAnnounces.

use super::{EAST, answer, known};
use crate::Hook;

#[track_caller]
fn check(who: &str, verb: &str, yaml: &str, expected: &str) {
    assert_eq!(answer(&known(), Hook::MemberClusterAnnounce, who, verb, yaml), expected, "{who} {verb}");
}

/// The announce of a cluster, in one line.
fn announce(cluster: &str, rest: &str) -> String {
    format!(
        "{{metadata: {{name: member-announce-from-{cluster}, namespace: mc}}, clusterID: {cluster}, \
         clusterSetID: set, leaderClusterID: hub{rest}}}"
    )
}

/// An update of an announce that is there.
fn becomes(old: &str, change: (&str, &str)) -> String {
    let new = old.replace(change.0, change.1);
    assert_ne!(old, new);
    format!("{old}---{new}")
}

#[test]
fn a_member_announces_itself_alone() {
    let north = announce("north", "");
    check("mc/north-token", "create", &north, "allowed");
    check("mc/north-token", "delete", &north, "allowed");
    let heartbeat = becomes(EAST, ("name:", "annotations: {touch-ts: '2026-11-21T00:00:00Z'}, name:"));
    check("mc/east-token", "update", &heartbeat, "allowed");
    let refused = "403: the ServiceAccount is bound to cluster west, and speaks not for cluster \"north\"";
    check("mc/west-token", "create", &north, refused);
    check("mc/west-token", "delete", &north, refused);
    check("mc/west-token", "update", &heartbeat, &refused.replace("north", "east"));
    check(
        "mc/west-token",
        "update",
        &becomes(EAST, ("clusterID: east", "clusterID: west")),
        &refused.replace("north", "east"),
    );
}

#[test]
fn who_is_bound_to_no_cluster_announces_none() {
    let north = announce("north", "");
    let refused = "403: ServiceAccount mc/default is bound to no cluster: it has no annotation multicluster.antrea.io/cluster-id; \"antctl mc create membertoken\" makes one that has";
    for verb in ["create", "delete"] {
        check("mc/default", verb, &north, refused);
        check("mc/unknown", verb, &north, &refused.replace("default", "unknown"));
    }
    check(
        "mc/empty",
        "create",
        &north,
        "403: ServiceAccount mc/empty is bound to no cluster: multicluster.antrea.io/cluster-id: \"\" is not a valid cluster ID: lower-case letters, digits, '-' and '.', 63 bytes at most, beginning and ending with a letter or digit",
    );
    let only = "403: only the ServiceAccount of a member may announce it";
    for who in ["argo/argo", "kube-system/antrea-mc-controller", "agent@n1"] {
        check(who, "create", &north, only);
    }
    check("kubelet", "create", &north, "403: user \"system:node:n1\" is no admin of the ClusterSet");
    check("", "create", &north, "403: user \"\" is no admin of the ClusterSet");
}

#[test]
fn the_leader_kubernetes_and_admins_may_clean_up() {
    let without_finalizer = becomes(EAST, ("name:", "finalizers: [], name:"));
    for who in
        ["kube-system/antrea-mc-controller", "kube-system/generic-garbage-collector", "admin", "master"]
    {
        check(who, "update", &without_finalizer, "allowed");
        check(who, "delete", EAST, "allowed");
    }
    check("argo/argo", "delete", EAST, "allowed");
    check("admin", "create", &announce("north", ""), "allowed");
}

#[test]
fn a_member_leaves_the_leaders_finalizer_alone() {
    let held = EAST.replace("name:", "finalizers: [memberclusterannounce.finalizer.antrea.io/east], name:");
    let refused = "403: finalizer memberclusterannounce.finalizer.antrea.io/east is the leader's to remove";
    check("mc/east-token", "update", &format!("{held}---{EAST}"), refused);
    check(
        "mc/east-token",
        "status",
        &format!("{EAST}---{EAST}"),
        "403: members may not write the status of MemberClusterAnnounces",
    );
}

#[test]
fn an_announce_fits_the_cluster_set() {
    let north = announce("north", "");
    let change = |from: &str, to: &str| north.replace(from, to);
    check(
        "mc/north-token",
        "create",
        &change("clusterSetID: set", "clusterSetID: other"),
        "412: there is no ClusterSet other in Namespace mc, but set",
    );
    check(
        "mc/north-token",
        "create",
        &change("leaderClusterID: hub", "leaderClusterID: east"),
        "403: leaderClusterID: the leader of ClusterSet set is \"hub\", not \"east\"",
    );
    check(
        "mc/north-token",
        "create",
        &change("name: member-announce-from-north", "name: north"),
        "422: metadata.name: must be \"member-announce-from-north\"",
    );
    check(
        "mc/north-token",
        "create",
        &change("namespace: mc", "namespace: other"),
        "403: Namespace other is no Common Area of this leader: those are mc",
    );
    check(
        "mc/east-token",
        "update",
        &becomes(EAST, ("clusterSetID: set", "clusterSetID: other")),
        "422: clusterSetID: cannot be changed",
    );
    check(
        "mc/north-token",
        "create",
        "{metadata: {name: a, namespace: mc}, clusterID: [1]}",
        "400: the object cannot be read: invalid type: sequence, expected a string",
    );
}

#[test]
fn ids_that_names_do_not_tell_apart_are_refused() {
    check(
        "mc/south-token",
        "create",
        &announce("east-2", ""),
        "403: clusterID: \"east-2\" and \"east\", which is a member already, begin alike up to a dash, so that names of objects do not tell them apart: rename one of the two",
    );
}

#[test]
fn nobody_takes_a_network_of_others() {
    let north = |rest| announce("north", rest);
    check("mc/north-token", "create", &north(", serviceCIDRs: [10.3.0.0/16]"), "allowed");
    let overlaps = "403: Service CIDR 10.2.4.0/24 overlaps Service CIDR 10.2.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own";
    check("mc/north-token", "create", &north(", serviceCIDRs: [10.2.4.0/24]"), overlaps);
    check(
        "mc/north-token",
        "create",
        &north(", serviceCIDRs: [0.0.0.0/0]"),
        "403: Service CIDR 0.0.0.0/0 contains loopback, link-local, multicast or unspecified addresses: name the networks of the cluster; Service CIDR 0.0.0.0/0 overlaps Service CIDR 10.1.0.0/16 of cluster east: clusters of a ClusterSet need networks of their own; Service CIDR 0.0.0.0/0 overlaps Service CIDR 10.2.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own",
    );
    check(
        "mc/north-token",
        "create",
        &north(", serviceCIDRs: [10.3.0.0/33]"),
        "422: serviceCIDRs[0]: \"10.3.0.0/33\" is not a CIDR, as 10.96.0.0/12",
    );
    check("admin", "create", &north(", serviceCIDRs: [10.2.4.0/24]"), overlaps);
}

#[test]
fn an_older_member_takes_no_network_of_a_younger_one_either() {
    let taken = "403: Service CIDR 10.2.0.0/16 overlaps Service CIDR 10.2.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own";
    check("mc/east-token", "update", &becomes(EAST, ("[10.1.0.0/16]", "[10.1.0.0/16, 10.2.0.0/16]")), taken);
    check(
        "mc/east-token",
        "update",
        &becomes(EAST, ("[10.1.0.0/16]", "[10.1.0.0/16, 10.4.0.0/16]")),
        "allowed",
    );
}

#[test]
fn networks_that_nobody_uses_may_overlap() {
    check(
        "mc/north-token",
        "create",
        &announce("north", ", serviceCIDRs: [10.3.0.0/16], podCIDRs: [10.102.0.0/16]"),
        "allowed",
    );
    check(
        "mc/north-token",
        "create",
        &announce("north", ", serviceCIDRs: [10.2.0.0/16], podCIDRs: [10.103.0.0/16], endpointIPType: PodIP"),
        "allowed",
    );
}

#[test]
fn what_overlapped_before_does_not_stop_heartbeats() {
    let known = known();
    let old = announce("north", ", serviceCIDRs: [10.2.4.0/24]");
    let new = announce("north", ", serviceCIDRs: [10.2.4.0/24], version: v1");
    let answer = answer(
        &known,
        Hook::MemberClusterAnnounce,
        "mc/north-token",
        "update",
        &format!("{old}\n---\n{new}"),
    );
    assert_eq!(answer, "allowed");
}
