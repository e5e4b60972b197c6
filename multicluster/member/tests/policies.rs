//! What a member makes of policies of the ClusterSet.

use antrea_mc_member::area::Area;
use antrea_mc_member::import::Subject;
use antrea_mc_member::kind::Kind;
use antrea_mc_member::objects::{Change, Key};

use crate::imports::{importer, objects};
use crate::objects::Cluster;

const POLICY: &str = "
kind: ResourceImport
metadata: {name: strict-antreaclusternetworkpolicy, namespace: area, resourceVersion: '7'}
spec: {kind: AntreaClusterNetworkPolicy, name: strict, clusternetworkpolicy: {tier: securityops, priority: 1, ingress: [{action: Drop}]}}";

const TIER: &str = "{kind: Tier, metadata: {name: securityops}, spec: {priority: 50}}";

#[test]
fn a_policy_is_imported_and_the_leader_is_told() {
    let mut cluster = Cluster::of(&objects(&[POLICY, TIER]));
    insta::assert_snapshot!(cluster.settle(&importer()), @r#"
    create ClusterNetworkPolicy antrea-mc-strict
      metadata.annotations: {"multicluster.antrea.io/imported-acnp":"true"}
      spec.tier: "securityops"
      spec.priority: 1
      spec.ingress: [{"action":"Drop"}]
    patch status of ResourceImport area/strict-antreaclusternetworkpolicy
      metadata.resourceVersion: "7"
      status.clusterStatuses: [{"clusterID":"west","conditions":[{"type":"Succeeded","status":"True","lastTransitionTime":"2027-01-15T08:00:00Z"}]}]
    "#);
    cluster.delete(Kind::ResourceImport, "area", "strict-antreaclusternetworkpolicy");
    insta::assert_snapshot!(cluster.settle(&importer()), @"delete ClusterNetworkPolicy antrea-mc-strict");
}

#[test]
fn a_policy_waits_for_its_tier() {
    let mut cluster = Cluster::of(POLICY);
    insta::assert_snapshot!(cluster.settle(&importer()), @r#"
    patch status of ResourceImport area/strict-antreaclusternetworkpolicy
      metadata.resourceVersion: "7"
      status.clusterStatuses: [{"clusterID":"west","conditions":[{"type":"Succeeded","status":"False","reason":"ACNPImportFailed","message":"ACNP Tier securityops does not exist in importing cluster west","lastTransitionTime":"2027-01-15T08:00:00Z"}]}]
    create LeaderEvent area/strict-antreaclusternetworkpolicy.18fae27693b40000
      involvedObject.apiVersion: "multicluster.crd.antrea.io/v1alpha1"
      involvedObject.kind: "ResourceImport"
      involvedObject.namespace: "area"
      involvedObject.name: "strict-antreaclusternetworkpolicy"
      involvedObject.uid: ""
      type: "Warning"
      reason: "ACNPImportFailed"
      message: "ACNP Tier securityops does not exist in importing cluster west"
      firstTimestamp: "2027-01-15T08:00:00Z"
      lastTimestamp: "2027-01-15T08:00:00Z"
      count: 1
      source.component: "antrea-mc-controller"
      reportingComponent: "antrea-mc-controller"
      reportingInstance: ""
    problem: ACNP Tier securityops does not exist in importing cluster west
    "#);
    cluster.apply(TIER);
    insta::assert_snapshot!(cluster.settle_briefly(&importer()), @"
    create ClusterNetworkPolicy antrea-mc-strict
    patch status of ResourceImport area/strict-antreaclusternetworkpolicy
    ");
}

#[test]
fn a_tier_that_comes_is_noticed_by_the_policies_and_by_nothing_else() {
    let service = "{kind: ResourceImport, metadata: {name: shop-web-service, namespace: area}, spec: {kind: ServiceImport, namespace: shop, name: web}}";
    let cluster = Cluster::of(&objects(&[POLICY, service, TIER]));
    let tier = Change { key: Key::new(Kind::Tier, "", "securityops"), before: None };
    assert_eq!(importer().subjects(&cluster.objects, &tier), [Subject::Policy("strict".to_owned())]);
}

#[test]
fn a_policy_of_the_cluster_itself_is_left_alone() {
    let own = "{kind: ClusterNetworkPolicy, metadata: {name: antrea-mc-strict}, spec: {priority: 9}}";
    let mut cluster = Cluster::of(&objects(&[POLICY, TIER, own]));
    insta::assert_snapshot!(cluster.settle_briefly(&importer()), @"
    patch status of ResourceImport area/strict-antreaclusternetworkpolicy
    create LeaderEvent area/strict-antreaclusternetworkpolicy.18fae27693b40000
    problem: ClusterNetworkPolicy antrea-mc-strict is not of Multi-cluster, and is left alone; rename or delete it to import
    ");
}

#[test]
fn the_leader_learns_that_a_policy_is_not_enforced() {
    let mut cluster = Cluster::of(&objects(&[POLICY, TIER]));
    cluster.settle(&importer());
    cluster.apply(
        "{kind: ClusterNetworkPolicy, metadata: {name: antrea-mc-strict, annotations: {multicluster.antrea.io/imported-acnp: 'true'}}, spec: {tier: securityops, priority: 1, ingress: [{action: Drop}]}, status: {conditions: [{type: Realizable, status: 'False', reason: NotEnforced, lastTransitionTime: '2027-01-15T08:00:00Z'}]}}",
    );
    insta::assert_snapshot!(cluster.settle(&importer()), @r#"
    patch status of ResourceImport area/strict-antreaclusternetworkpolicy
      metadata.resourceVersion: "7"
      status.clusterStatuses: [{"clusterID":"west","conditions":[{"type":"Succeeded","status":"True","lastTransitionTime":"2027-01-15T08:00:00Z"},{"type":"Realizable","status":"False","reason":"NotEnforced","lastTransitionTime":"2027-01-15T08:00:00Z"}]}]
    "#);
}

#[test]
fn a_policy_without_a_tier_is_in_the_default_one() {
    for tier in ["", "tier: '', "] {
        let mut cluster = Cluster::of(&POLICY.replace("tier: securityops, ", tier));
        insta::allow_duplicates! {
            insta::assert_snapshot!(cluster.settle_briefly(&importer()), @"
            create ClusterNetworkPolicy antrea-mc-strict
            patch status of ResourceImport area/strict-antreaclusternetworkpolicy
            ");
        }
    }
}

#[test]
fn a_policy_whose_export_went_while_the_member_was_away_goes_and_no_other() {
    let imported = "{kind: ClusterNetworkPolicy, metadata: {name: antrea-mc-strict, annotations: {multicluster.antrea.io/imported-acnp: 'true'}}, spec: {tier: securityops, priority: 1, ingress: [{action: Drop}]}}";
    let own = "{kind: ClusterNetworkPolicy, metadata: {name: antrea-mc-mine}, spec: {priority: 9}}";
    let mut cluster = Cluster::of(&objects(&[imported, own, TIER]));
    insta::assert_snapshot!(cluster.settle(&importer()), @"delete ClusterNetworkPolicy antrea-mc-strict");
    let mut restarted = Cluster::of(&objects(&[POLICY, imported, own, TIER]));
    insta::assert_snapshot!(restarted.settle_briefly(&importer()), @"patch status of ResourceImport area/strict-antreaclusternetworkpolicy");
    restarted.delete(Kind::ResourceImport, "area", "strict-antreaclusternetworkpolicy");
    insta::assert_snapshot!(restarted.settle(&importer()), @"delete ClusterNetworkPolicy antrea-mc-strict");
}
