//! Exports that are not of Services.

use super::world::World;

fn export(name: &str, second: u8, spec: &str) -> String {
    format!(
        "apiVersion: multicluster.crd.antrea.io/v1alpha1\nkind: ResourceExport\nmetadata: {{name: {name}, namespace: \
         antrea-multicluster, finalizers: [resourceexport.antrea.io/finalizer], creationTimestamp: \
         '2026-11-21T09:00:{second:02}Z'}}\nspec: {spec}\n---\n"
    )
}

/// What a cluster says of its networks and Gateways, which are several joined by commas.
pub(super) fn cluster_info(cluster: &str, second: u8, cidr: &str, gateways: &str) -> String {
    let gateways: Vec<String> =
        gateways.split(", ").map(|address| format!("{{gatewayIP: {address}}}")).collect();
    let info =
        format!("{{clusterID: {cluster}, serviceCIDR: {cidr}, gatewayInfos: [{}]}}", gateways.join(", "));
    let spec = format!(
        "{{clusterID: {cluster}, kind: ClusterInfo, name: {cluster}, namespace: kube-system, clusterInfo: {info}}}"
    );
    export(&format!("{cluster}-clusterinfo"), second, &spec)
}

pub(super) fn policy(name: &str, second: u8, priority: u8) -> String {
    let spec = format!(
        "{{kind: AntreaClusterNetworkPolicy, name: strict, clusterNetworkPolicy: {{tier: baseline, priority: {priority}}}}}"
    );
    export(name, second, &spec)
}

#[test]
fn of_two_policies_of_one_name_the_older_counts_and_the_other_is_told() {
    let mut world = World::of(&(policy("first", 1, 1) + &policy("second", 2, 2)));
    insta::assert_snapshot!(world.actions(), @r#"
    create ResourceImport strict-antreaclusternetworkpolicy {name: strict, kind: AntreaClusterNetworkPolicy, clusternetworkpolicy: {tier: baseline, priority: 1}}
    tell first: Succeeded=True
    tell second: Failure=False ConvergeFailure differs from ResourceExport first, which is older: make them the same, or delete one
    "#);
    world.delete("ResourceExport", "first");
    insta::assert_snapshot!(world.actions(), @r#"
    change ResourceImport strict-antreaclusternetworkpolicy {clusternetworkpolicy: {priority: 2}}
    keep finalizers [] of ResourceExport first
    tell second: Succeeded=True
    "#);
    world.delete("ResourceExport", "second");
    insta::assert_snapshot!(world.actions(), @r#"
    delete ResourceImport strict-antreaclusternetworkpolicy
    keep finalizers [] of ResourceExport second
    "#);
}

#[test]
fn networks_of_a_cluster_are_imported_and_the_cluster_is_told() {
    let east = cluster_info("east", 1, "10.100.0.0/16", "172.18.5.11");
    let mut world = World::of(&(east + &cluster_info("west", 2, "10.100.128.0/17", "172.18.5.12")));
    insta::assert_snapshot!(world.actions(), @r#"
    create ResourceImport east-clusterinfo {name: east-clusterinfo, namespace: antrea-multicluster, kind: ClusterInfo, clusterinfo: {clusterID: east, serviceCIDR: 10.100.0.0/16, gatewayInfos: [{gatewayIP: 172.18.5.11}]}}
    tell east-clusterinfo: Succeeded=True
    tell west-clusterinfo: Failure=False ConvergeFailure Service CIDR 10.100.128.0/17 overlaps Service CIDR 10.100.0.0/16 of cluster east: clusters of a ClusterSet need networks of their own
    "#);
    world.apply(&cluster_info("west", 2, "10.101.0.0/16", "172.18.5.12"));
    insta::assert_snapshot!(world.actions(), @r#"
    create ResourceImport west-clusterinfo {name: west-clusterinfo, namespace: antrea-multicluster, kind: ClusterInfo, clusterinfo: {clusterID: west, serviceCIDR: 10.101.0.0/16, gatewayInfos: [{gatewayIP: 172.18.5.12}]}}
    tell west-clusterinfo: Succeeded=True
    "#);
}
