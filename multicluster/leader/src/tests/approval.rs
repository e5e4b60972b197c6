//! A leader that knows nothing of approval is followed by one that does: what members had stays their own.

use serde_json::json;

use super::members::SET;
use super::networks::{account, b, bound, imported, info, told, world};
use super::world::World;

/// What a leader has left that knew nothing of approval.
fn led() -> String {
    SET.trim_end_matches("---\n").to_owned() + "status: {observedGeneration: 1}\n---\n"
}

#[test]
fn what_a_member_had_when_the_leader_was_upgraded_stays_its_own() {
    let mut world = world(&led());
    world.actions();
    let both = "10.102.0.0/16 10.102.0.0/16 1.1.1.0/24";
    assert_eq!(imported(&world), both);
    insta::assert_snapshot!(told(&world, "b"), @"NetworkUnapproved=True HeldBeforeBinding: the cluster keeps what it had before that was needed: Service CIDR 1.1.1.0/24; if all networks in this command are those of the cluster, run it in the leader: `kubectl annotate serviceaccount --namespace antrea-multicluster b-token --overwrite multicluster.antrea.io/networks=1.1.1.0/24,10.102.0.0/16`");
    let status = &world.object("MemberClusterAnnounce", "member-announce-from-b")["status"];
    assert_eq!(status["heldNetworks"], json!(["1.1.1.0/24"]));
    let since = |world: &World| world.object("ClusterSet", "cs1")["status"]["networkApprovalSince"].clone();
    assert_eq!(since(&world), "2026-11-21T09:48:01Z");
    world.restart();
    assert_eq!(world.actions(), "");
    world.delete("ResourceExport", "b-clusterinfo");
    world.actions();
    world.apply(&info("10.102.0.0/16, 1.1.1.0/24"));
    world.actions();
    assert_eq!(imported(&world), both, "a Gateway that was away costs nothing");
    world.edit("MemberClusterAnnounce", "member-announce-from-b", |announce| {
        announce["serviceCIDRs"] = json!(["10.102.0.0/16", "1.1.1.0/24", "8.8.8.0/24"]);
    });
    world.apply(&info("10.102.0.0/16, 1.1.1.0/24, 8.8.8.0/24"));
    world.actions();
    assert_eq!(imported(&world), both);
    assert!(told(&world, "b").starts_with("NetworkUnapproved=True NotBound"), "{}", told(&world, "b"));
    world.apply(&account("b", 20, &bound("1.1.1.0/24,10.102.0.0/16,8.8.8.0/24")));
    world.actions();
    assert_eq!(imported(&world), format!("{both} 8.8.8.0/24"));
    let status = &world.object("MemberClusterAnnounce", "member-announce-from-b")["status"];
    assert_eq!(status["heldNetworks"], json!(null), "what is bound need not be held");
}

/// What the leader of the version before has left.
#[test]
fn an_upgrade_changes_no_import() {
    let mut world = world(&led());
    world.actions();
    world.edit("MemberClusterAnnounce", "member-announce-from-b", |announce| {
        announce["status"] = json!({"gateways": announce["status"]["gateways"]});
    });
    world.edit("ClusterSet", "cs1", |set| {
        set["status"].as_object_mut().unwrap().remove("networkApprovalSince");
    });
    world.restart();
    let actions = world.actions();
    let is_status = |line: &&str| line.starts_with("tell ") || line.starts_with("ClusterSet ");
    let others: Vec<&str> = actions.lines().filter(|line| !is_status(line)).collect();
    assert!(others.iter().all(|line| line.starts_with("    ")), "{actions}");
    assert!(
        actions.contains("tell member-announce-from-b: Gateway 172.18.2.1 held 1.1.1.0/24 "),
        "{actions}"
    );
}

#[test]
fn what_cannot_be_written_down_of_a_member_keeps_nobody_waiting_and_holds_nothing_new() {
    let mut world = World::of(&(led() + &b().concat()));
    world.unwritable = Some("member-announce-from-b");
    world.actions();
    let since = |world: &World| world.object("ClusterSet", "cs1")["status"]["networkApprovalSince"].clone();
    world.wait(299, &["b"]);
    world.actions();
    assert_eq!(since(&world), json!(null), "it may still come");
    world.wait(1, &["b"]);
    world.actions();
    assert_eq!(since(&world), "2026-11-21T09:53:00Z");
    let both = "10.102.0.0/16 10.102.0.0/16 1.1.1.0/24";
    assert_eq!(imported(&world), both, "this leader knows what the member had");
    world.edit("MemberClusterAnnounce", "member-announce-from-b", |announce| {
        announce["serviceCIDRs"] = json!(["10.102.0.0/16", "1.1.1.0/24", "8.8.8.0/24"]);
    });
    world.restart();
    world.actions();
    assert_eq!(imported(&world), "10.102.0.0/16 10.102.0.0/16");
}

#[test]
fn a_member_claims_nothing_new_while_it_is_written_down_what_members_had() {
    let mut world = world(&led());
    world.area.settle(world.now);
    world.edit("MemberClusterAnnounce", "member-announce-from-b", |announce| {
        announce["serviceCIDRs"] = json!(["10.102.0.0/16", "1.1.1.0/24", "8.8.8.0/24"]);
    });
    world.actions();
    let status = &world.object("MemberClusterAnnounce", "member-announce-from-b")["status"];
    assert_eq!(status["heldNetworks"], json!(["1.1.1.0/24"]));
}

/// It is new, or was restored from a backup without its status.
#[test]
fn a_cluster_set_without_any_status_holds_nothing_for_anybody() {
    let mut world = world(SET);
    world.actions();
    assert_eq!(imported(&world), "10.102.0.0/16 10.102.0.0/16");
    assert!(told(&world, "b").starts_with("NetworkUnapproved=True NotBound"), "{}", told(&world, "b"));
    let status = &world.object("ClusterSet", "cs1")["status"];
    assert_eq!(status["networkApprovalSince"], "2026-11-21T09:48:01Z");
}

#[test]
fn where_the_api_server_drops_since_when_networks_need_approval_the_leader_says_so_and_holds_nothing() {
    let says = |world: &World| {
        let conditions = world.object("ClusterSet", "cs1")["status"]["conditions"].clone();
        let mut conditions = conditions.as_array().unwrap().iter();
        conditions.any(|condition| condition["type"] == "NetworkApproval" && condition["status"] == "False")
    };
    let mut world = world(&led());
    world.dropped = vec!["heldNetworks", "networkApprovalSince"];
    world.actions();
    assert_eq!(imported(&world), "10.102.0.0/16 10.102.0.0/16 1.1.1.0/24");
    world.wait(300, &["b"]);
    world.actions();
    assert_eq!(imported(&world), "10.102.0.0/16 10.102.0.0/16");
    assert!(says(&world));
    world.restart();
    world.actions();
    assert_eq!(imported(&world), "10.102.0.0/16 10.102.0.0/16", "the next leader begins with nothing held");
    assert!(says(&world));
    assert_eq!(world.actions(), "");
    world.dropped.clear();
    world.list_anew();
    world.actions();
    assert!(!says(&world));
    let status = &world.object("ClusterSet", "cs1")["status"];
    assert_eq!(status["networkApprovalSince"], "2026-11-21T09:53:01Z");
    let status = &world.object("MemberClusterAnnounce", "member-announce-from-b")["status"];
    assert_eq!(status["heldNetworks"], json!(null));
}
