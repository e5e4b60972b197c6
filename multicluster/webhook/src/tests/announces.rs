//! MemberClusterAnnounces.

use antrea_kit::watch::WatchEvent;

use super::exports::INFO;
use super::{EAST, WEST, answer, exported, known, objects};
use crate::{Event, Hook};

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
fn an_id_is_that_of_one_cluster() {
    let named = |uid: &str| EAST.replace("clusterID: east", &format!("clusterID: east\nclusterUID: {uid}"));
    let change = |old: &str, new: &str| format!("{old}---{new}");
    check("mc/east-token", "update", &change(EAST, &named("one")), "allowed");
    check("mc/east-token", "update", &change(&named("one"), &named("one")), "allowed");
    let refused = "403: cluster ID east is that of the cluster whose Namespace kube-system has UID one, and not of the one with UID \"two\": join with an ID and a token of its own; or, where that cluster is no more, run `kubectl delete memberclusterannounces -n mc member-announce-from-east` in the leader cluster";
    check("mc/east-token", "update", &change(&named("one"), &named("two")), refused);
    check("mc/east-token", "update", &change(&named("one"), EAST), &refused.replace("two", ""));
    check("admin", "update", &change(&named("one"), &named("two")), "allowed");
}

/// Who reaches the port can make reviews up. Who knows the UID, ID and token of a cluster can be taken for it.
#[test]
fn a_made_up_review_finds_out_no_uid_of_a_cluster() {
    let known = known();
    let named = |uid: &str| EAST.replace("clusterID: east", &format!("clusterID: east\nclusterUID: {uid}"));
    known.learn("mc", Event::Announce(WatchEvent::Applied(objects(&named("secret")).remove(0))));
    for new in ["other", "''"] {
        let made_up = format!("{}---{}", named("guess"), named(new));
        let text = answer(&known, Hook::MemberClusterAnnounce, "mc/east-token", "update", &made_up);
        assert!(text.starts_with("403: ") && text.contains("guess") && !text.contains("secret"), "{text}");
    }
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
fn a_member_keeps_its_announce_by_no_finalizer_of_its_own() {
    let held = |by: &str| EAST.replace("name:", &format!("finalizers: [{by}], name:"));
    let leaders = "memberclusterannounce.finalizer.antrea.io/east";
    let refused =
        "403: metadata.finalizers: \"example.org/held\" would keep the announce of a member that leaves";
    check("mc/east-token", "create", &held("example.org/held"), refused);
    let both = held(&format!("{leaders}, example.org/held"));
    check("mc/east-token", "update", &format!("{}---{both}", held(leaders)), refused);
    check("mc/east-token", "update", &format!("{both}---{both}"), "allowed");
    check("mc/east-token", "update", &format!("{EAST}---{}", held(leaders)), "allowed");
}

#[test]
fn a_member_keeps_nobody_by_an_owner_of_its_announce() {
    let owned = |name: &str| {
        let owner = format!(
            "{{apiVersion: v1, kind: ServiceAccount, name: {name}, uid: one, blockOwnerDeletion: true}}"
        );
        EAST.replace("name:", &format!("ownerReferences: [{owner}], name:"))
    };
    let refused = "403: metadata.ownerReferences: members write no owner references, and ServiceAccount \"b\" could not be deleted before this object";
    check("mc/east-token", "create", &owned("b"), refused);
    check("mc/east-token", "update", &format!("{EAST}---{}", owned("b")), refused);
    check("mc/east-token", "update", &format!("{}---{}", owned("a"), owned("b")), refused);
    check("mc/east-token", "update", &format!("{}---{}", owned("b"), owned("b")), "allowed");
    check("mc/east-token", "update", &format!("{}---{EAST}", owned("b")), "allowed");
    check("admin", "update", &format!("{EAST}---{}", owned("b")), "allowed");
}

/// A finalizer from before that was refused, or of somebody else, may keep it.
#[test]
fn a_cluster_whose_announce_is_being_deleted_has_no_networks() {
    let known = known();
    let leaving = EAST.replace("name:", "deletionTimestamp: '2026-11-22T00:00:00Z', name:");
    let claimed = becomes(WEST, ("[10.2.0.0/16]", "[10.2.0.0/16, 10.1.0.0/16]"));
    let (_, west) = claimed.split_once("---").unwrap();
    known.learn("mc", Event::Announce(WatchEvent::Applied(objects(west).remove(0))));
    let export = "{metadata: {name: west-a-b-endpoints, namespace: mc, finalizers: [resourceexport.antrea.io/finalizer], labels: \
                  {sourceClusterID: west, sourceKind: Endpoints, sourceName: b, sourceNamespace: a}}, spec: {clusterID: west, kind: Endpoints, namespace: a, \
                  name: b, endpoints: {subsets: [{addresses: [{ip: 10.1.4.1}]}]}}}";
    let exported = || answer(&known, Hook::ResourceExport, "mc/west-token", "create", export);
    assert_eq!(exported(), "403: 10.1.4.1 is in Service CIDR 10.1.0.0/16 of cluster east");
    known.learn("mc", Event::Announce(WatchEvent::Applied(objects(&leaving).remove(0))));
    assert_eq!(exported(), "allowed");
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
fn networks_are_named_and_usable() {
    let north = |rest| announce("north", rest);
    check("mc/north-token", "create", &north(", serviceCIDRs: [10.3.0.0/16]"), "allowed");
    check(
        "mc/north-token",
        "create",
        &north(", serviceCIDRs: [0.0.0.0/0]"),
        "403: Service CIDR 0.0.0.0/0 contains loopback, link-local, multicast or reserved addresses: name the networks of the cluster",
    );
    check(
        "mc/north-token",
        "create",
        &north(", serviceCIDRs: [10.3.0.0/33]"),
        "422: serviceCIDRs[0]: \"10.3.0.0/33\" is not a CIDR, as 10.96.0.0/12",
    );
}

/// Each of them is compared with those of all members.
#[test]
fn so_many_networks_are_announced_and_no_more() {
    for kind in ["serviceCIDRs", "podCIDRs", "nodePodCIDRs"] {
        let north = |number: u8| {
            let networks: Vec<String> = (0..number).map(|number| format!("10.103.{number}.0/24")).collect();
            announce("north", &format!(", {kind}: [{}]", networks.join(", ")))
        };
        check("mc/north-token", "create", &north(64), "allowed");
        let refused = format!("422: {kind}: there may be 64 at most, not 65");
        check("mc/north-token", "create", &north(65), &refused);
        check("mc/north-token", "update", &format!("{}---{}", north(64), north(65)), &refused);
        let heartbeat = north(65).replace("name:", "annotations: {touch-ts: now}, name:");
        check("mc/north-token", "update", &format!("{}---{heartbeat}", north(65)), "allowed");
    }
}

#[test]
fn an_announce_leaves_room_for_what_the_leader_writes_into_it() {
    let noted = |bytes: usize| {
        let note = "x".repeat(bytes);
        EAST.replace("name:", &format!("annotations: {{note: {note}}}, name:"))
    };
    let said = |old: &str, new: &str| {
        let both = format!("{old}---{new}");
        answer(&known(), Hook::MemberClusterAnnounce, "mc/east-token", "update", &both)
    };
    assert_eq!(said(EAST, &noted(60_000)), "allowed");
    let refused = said(EAST, &noted(70_000));
    assert!(refused.starts_with("403: the announce has 70"), "{refused}");
    assert!(refused.ends_with(" bytes, and may have 65536 at most"), "{refused}");
    assert_eq!(said(&noted(80_000), &noted(70_000)), "allowed", "it may shrink");
}

#[test]
fn what_an_older_member_has_may_be_claimed_and_is_refused_by_the_leader() {
    for who in ["mc/north-token", "admin"] {
        check(who, "create", &announce("north", ", serviceCIDRs: [10.2.4.0/24]"), "allowed");
    }
    let old_age = announce("north", ", serviceCIDRs: [10.2.4.0/24]")
        .replace("namespace: mc", "namespace: mc, creationTimestamp: '2020-01-01T00:00:00Z'");
    check("mc/north-token", "create", &old_age, "allowed");
    check("mc/west-token", "update", &becomes(WEST, ("[10.2.0.0/16]", "[10.1.0.0/17]")), "allowed");
    let known = known();
    let claimed = announce("north", ", serviceCIDRs: [10.2.4.0/24]");
    known.learn("mc", Event::Announce(WatchEvent::Applied(objects(&claimed).remove(0))));
    let export = "{metadata: {name: north-a-b-endpoints, namespace: mc, finalizers: [resourceexport.antrea.io/finalizer], labels: \
                  {sourceClusterID: north, sourceKind: Endpoints, sourceName: b, sourceNamespace: a}}, spec: {clusterID: north, kind: Endpoints, namespace: a, \
                  name: b, endpoints: {subsets: [{addresses: [{ip: 10.2.4.1}]}]}}}";
    assert_eq!(
        answer(&known, Hook::ResourceExport, "mc/north-token", "create", export),
        "403: 10.2.4.1 is in Service CIDR 10.2.0.0/16 of cluster west"
    );
}

#[test]
fn an_older_member_takes_no_network_from_a_younger_one() {
    let taken = "403: Service CIDR 10.2.0.0/16 overlaps Service CIDR 10.2.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own";
    check("mc/east-token", "update", &becomes(EAST, ("[10.1.0.0/16]", "[10.1.0.0/16, 10.2.0.0/16]")), taken);
    check(
        "mc/east-token",
        "update",
        &becomes(EAST, ("[10.1.0.0/16]", "[10.1.0.0/16, 10.4.0.0/16]")),
        "allowed",
    );
}

/// Of a Gateway that a member had, as of one that it has, nobody loses a heartbeat.
#[test]
fn a_network_around_the_gateway_of_another_may_be_claimed_too() {
    let (known, since) = (known(), "since: '2026-11-21T00:00:01Z'");
    let west = format!(
        "{WEST}status: {{gateways: [{{gatewayIP: 10.7.0.9, {since}, formerSince: '2026-11-21T09:00:00Z'}}]}}\n"
    );
    known.learn("mc", Event::Announce(WatchEvent::Applied(objects(&west).remove(0))));
    let update = becomes(EAST, ("[10.1.0.0/16]", "[10.1.0.0/16, 10.7.0.0/16]"));
    assert_eq!(answer(&known, Hook::MemberClusterAnnounce, "mc/east-token", "update", &update), "allowed");
}

/// The Gateway came when the member did not announce the network, whether the leader has written it down or not.
#[test]
fn a_network_that_a_member_had_may_be_claimed_again_around_a_gateway_of_another() {
    let had = "since: '2026-11-20T00:00:01Z'";
    let former = format!("{{cidr: 10.7.0.0/16, {had}, formerSince: '2026-11-21T09:00:00Z'}}");
    let east = format!("{EAST}status: {{networks: [{{cidr: 10.1.0.0/16, {had}}}, {former}]}}\n");
    let info = INFO
        .replace("east", "west")
        .replace("10.1.0.0/16", "10.2.0.0/16")
        .replace("172.18.0.2", "172.18.0.2}, {gatewayIP: 10.7.0.9");
    let gateway = "{gatewayIP: 10.7.0.9, since: '2026-11-21T10:00:00Z'}";
    let update = becomes(EAST, ("[10.1.0.0/16]", "[10.1.0.0/16, 10.7.0.0/16]"));
    for west in [WEST.to_owned(), format!("{WEST}status: {{gateways: [{gateway}]}}\n")] {
        let known = known();
        for announce in [&east, &west] {
            known.learn("mc", Event::Announce(WatchEvent::Applied(objects(announce).remove(0))));
        }
        known.learn("mc", Event::Export(WatchEvent::Applied(exported(&objects(&info)[0]))));
        assert_eq!(
            answer(&known, Hook::MemberClusterAnnounce, "mc/east-token", "update", &update),
            "allowed"
        );
    }
}

/// It is told so by the leader, and its heartbeats go on.
#[test]
fn what_a_younger_member_has_for_sure_may_be_claimed_too() {
    let (known, since) = (known(), "since: '2026-11-21T00:00:01Z'");
    let west = format!("{WEST}status: {{networks: [{{cidr: 10.2.0.0/16, {since}}}]}}\n");
    known.learn("mc", Event::Announce(WatchEvent::Applied(objects(&west).remove(0))));
    let update = becomes(EAST, ("[10.1.0.0/16]", "[10.1.0.0/16, 10.2.0.0/16]"));
    let said = |update: &str| answer(&known, Hook::MemberClusterAnnounce, "mc/east-token", "update", update);
    assert_eq!(said(&update), "allowed");
    // What the leader has written down it says itself.
    let forged = format!("{update}status: {{networks: [{{cidr: 10.2.0.0/16, {since}}}]}}\n");
    known.learn("mc", Event::Announce(WatchEvent::Applied(objects(WEST).remove(0))));
    assert!(said(&forged).starts_with("403: Service CIDR 10.2.0.0/16 overlaps"), "{}", said(&forged));
}

/// Anybody who reaches the port can make a review up. What the leader has written down is what the watch says.
#[test]
fn what_a_made_up_review_says_of_the_record_costs_nothing() {
    let (known, since) = (known(), "since: '2026-11-19T00:00:00Z'");
    let old = announce("north", ", serviceCIDRs: [10.3.0.0/16]");
    let new = announce("north", ", serviceCIDRs: [10.3.0.0/16, 10.2.0.0/16]");
    known.learn("mc", Event::Announce(WatchEvent::Applied(objects(&old).remove(0))));
    let record: Vec<String> =
        (0..5_000).map(|number| format!("{{cidr: 'fd00::{number:x}/128', {since}}}")).collect();
    let record = format!("{{cidr: 10.2.0.0/16, {since}}}, {}", record.join(", "));
    let made_up =
        announce("north", &format!(", serviceCIDRs: [10.3.0.0/16], status: {{networks: [{record}]}}"));
    for old in [&old, &made_up] {
        let said = answer(&known, Hook::MemberClusterAnnounce, "x", "update", &format!("{old}\n---\n{new}"));
        assert_eq!(said, "allowed", "the leader refuses it: no other member has lost anything");
    }
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
