//! Who is in a ClusterSet.

use antrea_shared_api::multicluster::{v1alpha1, v1alpha2};

use super::{NOT_A_LABEL, check, check_update};

#[test]
fn a_cluster_set_names_its_cluster_and_one_leader() {
    check::<v1alpha2::ClusterSet>(
        "spec: {}",
        &["spec.clusterID: is missing", "spec.leaders: there must be one, not 0"],
    );
    check::<v1alpha2::ClusterSet>(
        "spec: {clusterID: East, leaders: [{secret: A_B, server: 'http://hub'}], namespace: a.b}",
        &[
            &format!("spec.clusterID: \"East\" {NOT_A_LABEL}"),
            "spec.leaders[0].clusterID: is missing",
            "spec.leaders[0].secret: \"A_B\" is not a DNS subdomain: DNS labels joined by '.', 253 characters at most",
            "spec.leaders[0].server: \"http://hub\" is not the URL of an API server, as https://192.0.2.1:6443",
            &format!("spec.namespace: \"a.b\" {NOT_A_LABEL}"),
        ],
    );
}

#[test]
fn the_clusters_of_a_cluster_set_never_change() {
    check_update::<v1alpha2::ClusterSet>(
        "spec: {clusterID: east, leaders: [{clusterID: hub}]}",
        "spec: {clusterID: west, leaders: [{clusterID: nub, secret: new}]}",
        &["spec.clusterID: cannot be changed", "spec.leaders[0].clusterID: cannot be changed"],
    );
    check_update::<v1alpha2::ClusterSet>(
        "spec: {leaders: [{clusterID: hub}]}",
        "spec: {clusterID: east, leaders: [{clusterID: hub, secret: new}]}",
        &[],
    );
}

#[test]
fn an_older_cluster_set_needs_no_id() {
    check::<v1alpha1::ClusterSet>("spec: {members: [{clusterID: east}], leaders: [{clusterID: hub}]}", &[]);
    check::<v1alpha1::ClusterSet>(
        "spec: {members: [{}], leaders: [{clusterID: hub, serviceAccount: a_b}]}",
        &[
            "spec.members[0].clusterID: is missing",
            "spec.leaders[0].serviceAccount: \"a_b\" is not a DNS subdomain: DNS labels joined by '.', 253 characters at most",
        ],
    );
}

#[test]
fn a_claim_has_one_of_two_names() {
    check::<v1alpha2::ClusterClaim>("{metadata: {name: id.k8s.io}, value: east}", &[]);
    check::<v1alpha2::ClusterClaim>("{metadata: {name: id.k8s.io}}", &["value: is missing"]);
    check::<v1alpha2::ClusterClaim>("{metadata: {name: clusterset.k8s.io}, value: set.example.org}", &[]);
    check::<v1alpha2::ClusterClaim>(
        "{metadata: {name: id}, value: east}",
        &["metadata.name: \"id\" is none of id.k8s.io, clusterset.k8s.io"],
    );
}

#[test]
fn an_announce_says_who_and_where() {
    check::<v1alpha1::MemberClusterAnnounce>(
        "{metadata: {name: east}, clusterID: east, clusterSetID: set, serviceCIDRs: [10.96.0.0/12, 10.96.0.0], \
         podCIDRs: [fd00::/129], nodePodCIDRs: [10.10.1], endpointIPType: NodeIP}",
        &[
            "metadata.name: must be \"member-announce-from-east\"",
            "leaderClusterID: is missing",
            "serviceCIDRs[1]: \"10.96.0.0\" is not a CIDR, as 10.96.0.0/12",
            "podCIDRs[0]: \"fd00::/129\" is not a CIDR, as 10.96.0.0/12",
            "nodePodCIDRs[0]: \"10.10.1\" is not a CIDR, as 10.96.0.0/12",
            "endpointIPType: \"NodeIP\" is none of ClusterIP, PodIP",
        ],
    );
}

#[test]
fn an_announce_names_64_networks_of_a_kind_at_most() {
    let many: Vec<String> = (0..65).map(|number| format!("10.{number}.0.0/16")).collect();
    let many = many.join(", ");
    let kinds = ["serviceCIDRs", "podCIDRs", "nodePodCIDRs"];
    let fields = kinds.map(|kind| format!("{kind}: [{many}]")).join(", ");
    let errors = kinds.map(|kind| format!("{kind}: there may be 64 at most, not 65"));
    check::<v1alpha1::MemberClusterAnnounce>(
        &format!(
            "{{metadata: {{name: member-announce-from-a}}, clusterID: a, clusterSetID: set, leaderClusterID: hub, {fields}}}"
        ),
        &errors.each_ref().map(String::as_str),
    );
}

#[test]
fn an_announce_never_changes_its_ids() {
    let old =
        "{metadata: {name: member-announce-from-a}, clusterID: a, clusterSetID: set, leaderClusterID: hub}";
    check_update::<v1alpha1::MemberClusterAnnounce>(
        old,
        "{metadata: {name: member-announce-from-a, annotations: {touch-ts: now}}, clusterID: a, clusterSetID: set, leaderClusterID: hub}",
        &[],
    );
    check_update::<v1alpha1::MemberClusterAnnounce>(
        old,
        "{metadata: {name: member-announce-from-a}, clusterID: a, clusterSetID: other, leaderClusterID: hub}",
        &["clusterSetID: cannot be changed"],
    );
}
