//! Members come, fall silent, and leave.

use std::time::Duration;

use super::imports::web;
use super::others::policy;
use super::world::World;
use crate::event::Event;

pub(super) const SET: &str = "apiVersion: multicluster.crd.antrea.io/v1alpha2\nkind: ClusterSet\nmetadata: {name: cs1, \
    namespace: antrea-multicluster, generation: 1, creationTimestamp: '2026-11-21T08:00:00Z'}\nspec: {clusterID: hub, \
    leaders: [{clusterID: hub}], namespace: antrea-multicluster}\n---\n";

/// The announce of a member; `more` are further fields.
pub(super) fn announce(cluster: &str, second: u8, more: &str) -> String {
    format!(
        "apiVersion: multicluster.crd.antrea.io/v1alpha1\nkind: MemberClusterAnnounce\nmetadata: {{name: \
         member-announce-from-{cluster}, namespace: antrea-multicluster, creationTimestamp: '2026-11-21T08:00:{second:02}Z', \
         annotations: {{touch-ts: '2026-11-21T09:47:55Z'}}}}\nclusterID: {cluster}\nclusterSetID: cs1\nleaderClusterID: hub\n{more}\n---\n"
    )
}

fn two() -> World {
    let objects = [
        SET.to_owned(),
        announce("east", 1, ""),
        announce("west", 2, ""),
        web("east", 80, "10.100.0.1", 1),
        web("west", 80, "10.101.0.1", 2),
    ];
    let mut world = World::of(&objects.concat());
    world.actions();
    world.wait(1, &["east", "west"]);
    world.actions();
    world
}

#[test]
fn members_are_counted_when_they_are_heard() {
    let mut world = World::of(&(SET.to_owned() + &announce("east", 1, "") + &announce("west", 2, "")));
    insta::assert_snapshot!(world.actions(), @r#"
    ClusterSet cs1: 0/2 Ready=Unknown NoReadyCluster All clusters have an unknown status
        east: Ready=Unknown  No heartbeat has been seen yet
        west: Ready=Unknown  No heartbeat has been seen yet
    keep finalizers ["memberclusterannounce.finalizer.antrea.io/east"] of MemberClusterAnnounce member-announce-from-east
    keep finalizers ["memberclusterannounce.finalizer.antrea.io/west"] of MemberClusterAnnounce member-announce-from-west
    "#);
    world.wait(1, &["west"]);
    insta::assert_snapshot!(world.actions(), @r#"
    ClusterSet cs1: 1/2 Ready=False NoReadyCluster 1 of 2 clusters are not ready
        east: Ready=Unknown  No heartbeat has been seen yet
        west: Ready=True Connected Member Connected
    "#);
}

#[test]
fn a_silent_member_is_called_so_and_later_its_endpoints_are_withdrawn_and_nothing_is_deleted() {
    let mut world = two();
    world.wait(40, &["east"]);
    insta::assert_snapshot!(world.actions(), @r#"
    ClusterSet cs1: 1/2 Ready=False NoReadyCluster 1 of 2 clusters are not ready
        east: Ready=True Connected Member Connected
        west: Ready=False Disconnected The member's heartbeats are missing
    "#);
    world.wait(300, &["east"]);
    insta::assert_snapshot!(world.actions(), @r#"
    change ResourceImport shop-web-endpoints {endpoints: {subsets: [{addresses: [{ip: 10.100.0.1}], ports: [{name: http, port: 80, protocol: TCP}]}], clusters: [{clusterID: east, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.100.0.1]}]}]}]}}
    ClusterSet cs1: 1/2 Ready=False NoReadyCluster 1 of 2 clusters are not ready
        east: Ready=True Connected Member Connected
        west: Ready=False LeaseExpired The member's heartbeats are missing for so long that its endpoints are withdrawn; the next one brings them back
    "#);
    world.restart();
    assert_eq!(world.actions(), "", "a new leader knows what the last one did");
    world.touch("west");
    insta::assert_snapshot!(world.actions(), @r#"
    change ResourceImport shop-web-endpoints {endpoints: {subsets: [{addresses: [{ip: 10.100.0.1}, {ip: 10.101.0.1}], ports: [{name: http, port: 80, protocol: TCP}]}], clusters: [{clusterID: east, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.100.0.1]}]}]}, {clusterID: west, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.101.0.1]}]}]}]}}
    ClusterSet cs1: 2/2 Ready=True
        east: Ready=True Connected Member Connected
        west: Ready=True Connected Member Connected
    "#);
}

#[test]
fn a_day_without_a_leader_takes_nothing_from_members() {
    let mut world = two();
    world.now += Duration::from_secs(25 * 3600);
    world.time += Duration::from_secs(25 * 3600);
    world.restart();
    assert_eq!(world.actions(), "");
    world.wait(60, &["east", "west"]);
    assert_eq!(world.actions(), "");
}

#[test]
fn a_heartbeat_counts_also_where_the_watch_does_not_tell_of_it() {
    let mut world = two();
    for _ in 0..80 {
        world.wait(5, &[]);
        world.read_announces(&["east"]);
    }
    let status = world.actions();
    assert!(
        status.contains("east: Ready=True Connected") && status.contains("west: Ready=False LeaseExpired"),
        "{status}"
    );
}

#[test]
fn silence_does_not_count_while_the_leader_hears_nothing() {
    let mut world = two();
    world.area.learn(Event::Deaf, world.now);
    world.wait(3600, &[]);
    assert_eq!(world.actions(), "");
    world.read_announces(&[]);
    world.wait(20, &[]);
    assert_eq!(world.actions(), "", "members first have time to be heard again");
    world.wait(20, &[]);
    insta::assert_snapshot!(world.actions(), @r#"
    ClusterSet cs1: 0/2 Ready=False NoReadyCluster 2 of 2 clusters are not ready
        east: Ready=False Disconnected The member's heartbeats are missing
        west: Ready=False Disconnected The member's heartbeats are missing
    "#);
    let status = &world.object("ClusterSet", "cs1")["status"];
    assert_eq!(
        status["readyClusters"],
        serde_json::Value::Null,
        "a number that is 0 is left out, not left as it was"
    );
}

#[test]
fn a_member_that_leaves_takes_its_exports_along() {
    let mut world = two();
    world.delete("MemberClusterAnnounce", "member-announce-from-west");
    insta::assert_snapshot!(world.actions(), @r#"
    ClusterSet cs1: 1/1 Ready=True
        east: Ready=True Connected Member Connected
    delete ResourceExport west-shop-web-endpoints
    delete ResourceExport west-shop-web-service
    change ResourceImport shop-web-endpoints {endpoints: {subsets: [{addresses: [{ip: 10.100.0.1}], ports: [{name: http, port: 80, protocol: TCP}]}], clusters: [{clusterID: east, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.100.0.1]}]}]}]}}
    change ResourceImport shop-web-service {serviceImport: {status: {clusters: [{cluster: east}]}}}
    keep finalizers [] of MemberClusterAnnounce member-announce-from-west
    keep finalizers [] of ResourceExport west-shop-web-endpoints
    keep finalizers [] of ResourceExport west-shop-web-service
    "#);
    world.apply(&web("west", 80, "10.101.0.1", 3));
    let actions = world.actions();
    assert!(actions.contains("tell west-shop-web-service: Succeeded=True"), "{actions}");
    world.apply(&announce("west", 3, ""));
    insta::assert_snapshot!(world.actions(), @r#"
    ClusterSet cs1: 2/2 Ready=True
        east: Ready=True Connected Member Connected
        west: Ready=True Connected Member Connected
    keep finalizers ["memberclusterannounce.finalizer.antrea.io/west"] of MemberClusterAnnounce member-announce-from-west
    "#);
}

/// East is a member, West has no announce; an admin exports a policy.
fn one_of_two() -> World {
    let objects = [
        SET.to_owned(),
        announce("east", 1, ""),
        web("east", 80, "10.100.0.1", 1),
        web("west", 80, "10.101.0.1", 2),
        policy("strict", 3, 1),
    ];
    let mut world = World::of(&objects.concat());
    world.actions();
    world
}

#[test]
fn exports_without_an_announce_end_after_a_lease_and_an_admins_do_not() {
    let mut world = one_of_two();
    world.wait(299, &["east"]);
    let unannounced = |world: &World| world.area.census().members.get("Unannounced").copied();
    let actions = world.actions();
    assert!(!actions.contains("delete"), "{actions}");
    assert_eq!(unannounced(&world), Some(1));
    world.wait(1, &["east"]);
    insta::assert_snapshot!(world.actions(), @r#"
    delete ResourceExport west-shop-web-endpoints
    delete ResourceExport west-shop-web-service
    change ResourceImport shop-web-endpoints {endpoints: {subsets: [{addresses: [{ip: 10.100.0.1}], ports: [{name: http, port: 80, protocol: TCP}]}], clusters: [{clusterID: east, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.100.0.1]}]}]}]}}
    change ResourceImport shop-web-service {serviceImport: {status: {clusters: [{cluster: east}]}}}
    keep finalizers [] of ResourceExport west-shop-web-endpoints
    keep finalizers [] of ResourceExport west-shop-web-service
    "#);
    assert_eq!(unannounced(&world), None);
    world.wait(600, &["east"]);
    world.actions();
    assert!(world.has("ResourceExport", "strict") && world.has("ResourceExport", "east-shop-web-service"));
}

/// One that leaves, and one that is none.
#[test]
fn a_policy_of_an_admin_stays_whatever_cluster_it_names() {
    for cluster in ["east", "west"] {
        let policy = policy("strict", 3, 1).replace("{kind:", &format!("{{clusterID: {cluster}, kind:"));
        let objects = [SET.to_owned(), announce("east", 1, ""), web("west", 80, "10.101.0.1", 2), policy];
        let mut world = World::of(&objects.concat());
        world.actions();
        world.delete("MemberClusterAnnounce", "member-announce-from-east");
        let actions = world.actions();
        assert!(!world.has("MemberClusterAnnounce", "member-announce-from-east"), "{actions}");
        world.wait(300, &[]);
        let actions = world.actions();
        assert!(!world.has("ResourceExport", "west-shop-web-service"), "{actions}");
        assert!(world.has("ResourceExport", "strict"), "{cluster}: {actions}");
        assert!(world.has("ResourceImport", "strict-antreaclusternetworkpolicy"), "{cluster}: {actions}");
    }
}

#[test]
fn exports_of_a_member_that_announces_itself_within_a_lease_stay() {
    let mut world = one_of_two();
    world.wait(290, &["east"]);
    world.apply(&announce("west", 2, ""));
    world.wait(290, &["east", "west"]);
    world.actions();
    assert!(world.has("ResourceExport", "west-shop-web-service"));
}

#[test]
fn a_member_that_left_while_no_leader_was_there_takes_its_exports_along() {
    let mut world = two();
    world.delete("MemberClusterAnnounce", "member-announce-from-west");
    world.restart();
    let actions = world.actions();
    assert!(actions.contains("delete ResourceExport west-shop-web-service\n"), "{actions}");
    assert!(
        actions.contains("keep finalizers [] of MemberClusterAnnounce member-announce-from-west\n"),
        "{actions}"
    );
}

#[test]
fn finalizers_of_others_keep_no_export_of_a_member_that_left() {
    let mut world = two();
    for cluster in ["east", "west"] {
        world.edit("ResourceExport", &format!("{cluster}-shop-web-service"), |export| {
            let finalizers = export["metadata"]["finalizers"].as_array_mut().unwrap();
            finalizers.push(serde_json::json!("example.org/held"));
        });
    }
    world.delete("ResourceExport", "east-shop-web-service");
    world.delete("MemberClusterAnnounce", "member-announce-from-west");
    let actions = world.actions();
    assert!(!world.has("ResourceExport", "west-shop-web-service"), "{actions}");
    assert!(world.has("ResourceExport", "east-shop-web-service"), "whose member is there: {actions}");
}

#[test]
fn an_announce_that_is_gone_at_once_counts_as_leaving() {
    let mut world = two();
    world.edit("MemberClusterAnnounce", "member-announce-from-west", |announce| {
        announce["metadata"]["finalizers"] = serde_json::json!([]);
    });
    world.delete("MemberClusterAnnounce", "member-announce-from-west");
    let actions = world.actions();
    assert!(actions.contains("delete ResourceExport west-shop-web-service\n"), "{actions}");
}

#[test]
fn a_member_that_was_read_before_a_list_without_it_has_left_still() {
    let mut world = two();
    world.edit("MemberClusterAnnounce", "member-announce-from-west", |announce| {
        announce["metadata"]["finalizers"] = serde_json::json!([]);
    });
    let (asked, announces) = (world.area.rounds().announces, world.all("MemberClusterAnnounce"));
    world.delete("MemberClusterAnnounce", "member-announce-from-west");
    world.list_anew();
    world.area.learn(Event::Heard { asked, announces }, world.now);
    let actions = world.actions();
    assert!(actions.contains("delete ResourceExport west-shop-web-service\n"), "{actions}");
}

#[test]
fn addresses_in_networks_of_others_are_left_out() {
    let objects = [
        SET.to_owned(),
        announce("east", 1, "serviceCIDRs: [10.100.0.0/16]"),
        announce("west", 2, "serviceCIDRs: [10.101.0.0/16]"),
        web("east", 80, "10.101.0.9", 1),
        web("west", 80, "10.101.0.1", 2),
    ];
    let mut world = World::of(&objects.concat());
    insta::assert_snapshot!(world.actions(), @r#"
    create ResourceImport shop-web-endpoints {name: web, namespace: shop, kind: Endpoints, endpoints: {subsets: [{addresses: [{ip: 10.101.0.1}], ports: [{name: http, port: 80, protocol: TCP}]}], clusters: [{clusterID: west, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.101.0.1]}]}]}]}}
    create ResourceImport shop-web-service {name: web, namespace: shop, kind: ServiceImport, serviceImport: {metadata: {}, spec: {ports: [{name: http, protocol: TCP, port: 80}], type: ClusterSetIP, sessionAffinity: None, internalTrafficPolicy: Cluster}, status: {clusters: [{cluster: east}, {cluster: west}]}}}
    ClusterSet cs1: 0/2 Ready=Unknown NoReadyCluster All clusters have an unknown status
        east: Ready=Unknown  No heartbeat has been seen yet
        west: Ready=Unknown  No heartbeat has been seen yet
    keep finalizers ["memberclusterannounce.finalizer.antrea.io/east"] of MemberClusterAnnounce member-announce-from-east
    keep finalizers ["memberclusterannounce.finalizer.antrea.io/west"] of MemberClusterAnnounce member-announce-from-west
    tell east-shop-web-endpoints: Succeeded=True PartlyImported left out: 10.101.0.9 is in Service CIDR 10.101.0.0/16 of cluster west
    tell east-shop-web-service: Succeeded=True | Conflict=False NoConflicts
    tell west-shop-web-endpoints: Succeeded=True
    tell west-shop-web-service: Succeeded=True | Conflict=False NoConflicts
    tell member-announce-from-east: has 10.100.0.0/16
    tell member-announce-from-west: has 10.101.0.0/16
    "#);
    world.edit("MemberClusterAnnounce", "member-announce-from-east", |announce| {
        announce["serviceCIDRs"] = serde_json::json!(["10.101.0.0/17"]);
    });
    insta::assert_snapshot!(world.actions(), @r#"
    ClusterSet cs1: 0/2 Ready=Unknown NoReadyCluster All clusters have an unknown status
        east: Ready=Unknown  No heartbeat has been seen yet | Conflict=True NetworkRefused Service CIDR 10.101.0.0/17 overlaps Service CIDR 10.101.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own
        west: Ready=Unknown  No heartbeat has been seen yet | Conflict=True NetworkContested Service CIDR 10.101.0.0/16 overlaps Service CIDR 10.101.0.0/17 of cluster east, which is refused: clusters of a ClusterSet need networks of their own
    tell member-announce-from-east: had 10.100.0.0/16 Conflict=True NetworkRefused Service CIDR 10.101.0.0/17 overlaps Service CIDR 10.101.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own
    tell member-announce-from-west: has 10.101.0.0/16 Conflict=True NetworkContested Service CIDR 10.101.0.0/16 overlaps Service CIDR 10.101.0.0/17 of cluster east, which is refused: clusters of a ClusterSet need networks of their own
    "#);
}

#[test]
fn of_two_clusters_with_one_network_the_older_has_it_and_both_are_told_until_one_has_another() {
    let objects = [
        SET.to_owned(),
        announce("east", 2, "serviceCIDRs: [10.100.0.0/24]"),
        announce("west", 1, "serviceCIDRs: [10.100.0.0/16]"),
    ];
    let mut world = World::of(&objects.concat());
    let told = world.actions();
    for line in [
        "tell member-announce-from-east: Conflict=True NetworkRefused Service CIDR 10.100.0.0/24 overlaps Service CIDR 10.100.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own\n",
        "tell member-announce-from-west: has 10.100.0.0/16 Conflict=True NetworkContested Service CIDR 10.100.0.0/16 overlaps Service CIDR 10.100.0.0/24 of cluster east, which is refused: clusters of a ClusterSet need networks of their own\n",
    ] {
        assert!(told.contains(line), "{line} is not in {told}");
    }
    world.restart();
    assert_eq!(world.actions(), "", "they know already");
    world.edit("MemberClusterAnnounce", "member-announce-from-east", |announce| {
        announce["serviceCIDRs"] = serde_json::json!(["10.101.0.0/24"]);
    });
    insta::assert_snapshot!(world.actions(), @r#"
    ClusterSet cs1: 0/2 Ready=Unknown NoReadyCluster All clusters have an unknown status
        east: Ready=Unknown  No heartbeat has been seen yet
        west: Ready=Unknown  No heartbeat has been seen yet
    tell member-announce-from-east: has 10.101.0.0/24
    tell member-announce-from-west: has 10.100.0.0/16
    "#);
    let status = &world.object("MemberClusterAnnounce", "member-announce-from-west")["status"];
    assert_eq!(status["conditions"], serde_json::Value::Null, "{status}");
}
