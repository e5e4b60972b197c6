//! What a ClusterSet says.

use super::members::{SET, announce};
use super::world::World;

#[test]
fn a_cluster_set_without_members_is_not_ready() {
    insta::assert_snapshot!(World::of(SET).actions(), @"ClusterSet cs1: 0/0 Ready=Unknown NoReadyCluster No cluster has announced itself");
}

#[test]
fn a_namespace_is_the_common_area_of_the_oldest_cluster_set() {
    let second = SET.replace("cs1", "cs0").replace("08:00:00Z", "08:00:01Z");
    let mut world = World::of(&(SET.to_owned() + &second + &announce("east", 1, "")));
    insta::assert_snapshot!(world.actions(), @r#"
    ClusterSet cs0: 0/0 Ready=False NotTheFirst this Namespace is the Common Area of ClusterSet cs1, which is older: use another Namespace
    ClusterSet cs1: 0/1 Ready=Unknown NoReadyCluster All clusters have an unknown status
        east: Ready=Unknown  No heartbeat has been seen yet
    keep finalizers ["memberclusterannounce.finalizer.antrea.io/east"] of MemberClusterAnnounce member-announce-from-east
    "#);
}

#[test]
fn the_cluster_set_of_a_member_is_the_members_affair() {
    let set =
        SET.replace("leaders: [{clusterID: hub}]", "leaders: [{clusterID: other, server: 'https://other'}]");
    assert_eq!(World::of(&set).actions(), "");
}

#[test]
fn a_cluster_set_that_does_not_name_its_own_cluster_is_the_leaders_where_no_server_is_named() {
    let set = SET.replace("clusterID: hub, ", "");
    assert!(World::of(&set).actions().starts_with("ClusterSet cs1: 0/0"));
    let set = set.replace("[{clusterID: hub}]", "[{clusterID: hub, server: 'https://hub'}]");
    assert_eq!(World::of(&set).actions(), "");
}
