//! ClusterSets of both versions.

use antrea_kit::watch::WatchEvent;
use serde_json::Value;

use super::{known, objects};
use crate::{Event, Known, convert};

const OLD: &str = "
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: ClusterSet
metadata: {name: set, namespace: kube-system, uid: a}
spec: {members: [{clusterID: east}], namespace: mc, leaders: [{clusterID: hub, server: 'https://hub', serviceAccount: a}]}
";

fn converted(known: &Known, object: &Value, version: &str) -> Value {
    convert(object, &format!("multicluster.crd.antrea.io/{version}"), &known.read()).unwrap()
}

#[test]
fn a_cluster_set_comes_through_both_versions_unchanged() {
    let old: Value = objects(OLD).remove(0);
    let new = converted(&known(), &old, "v1alpha2");
    assert_eq!(new["apiVersion"], "multicluster.crd.antrea.io/v1alpha2");
    assert_eq!(new["spec"]["clusterID"], "east");
    let mut back = converted(&known(), &new, "v1alpha1");
    assert_eq!(back["spec"]["clusterID"].take(), "east");
    back["spec"].as_object_mut().unwrap().retain(|_, value| !value.is_null());
    assert_eq!(back, old);
    assert_eq!(converted(&known(), &old, "v1alpha1"), old);
}

#[test]
fn since_when_networks_need_approval_comes_through_both_versions() {
    let since = "{networkApprovalSince: '2026-11-20T00:00:00Z'}";
    let old: Value = objects(&format!("{OLD}status: {since}\n")).remove(0);
    let new = converted(&known(), &old, "v1alpha2");
    for set in [&new, &converted(&known(), &new, "v1alpha1")] {
        assert_eq!(set["status"]["networkApprovalSince"], "2026-11-20T00:00:00Z");
    }
}

/// The cluster of [`OLD`] where there are these claims: `NAME=VALUE`.
#[track_caller]
fn check_claims(claims: &[&str], expected: &str) {
    let claim = |text: &&str| {
        let (name, value) = text.split_once('=').unwrap();
        format!("{{metadata: {{name: {name}, namespace: kube-system}}, value: {value:?}}}")
    };
    let claims: Vec<String> = claims.iter().map(claim).collect();
    let known = known();
    known.learn("kube-system", Event::ClusterClaim(WatchEvent::Resynced(objects(&claims.join("\n---\n")))));
    let old: Value = objects(OLD).remove(0);
    assert_eq!(converted(&known, &old, "v1alpha2")["spec"]["clusterID"], expected);
}

#[test]
fn a_claim_tells_the_cluster() {
    check_claims(&["id.k8s.io=claimed"], "claimed");
    check_claims(&["id.k8s.io=claimed", "clusterset.k8s.io=set"], "claimed");
}

#[test]
fn claims_for_another_cluster_set_tell_nothing() {
    check_claims(&["id.k8s.io=claimed", "clusterset.k8s.io=other"], "east");
    check_claims(&["id.k8s.io="], "east");
}

#[test]
fn a_set_that_nothing_tells_the_cluster_of_hides_no_others() {
    let old: Value = objects(&OLD.replace("members: [{clusterID: east}], ", "")).remove(0);
    let new = converted(&known(), &old, "v1alpha2");
    assert_eq!(new["spec"]["clusterID"], Value::Null);
    assert_eq!(new["spec"]["leaders"][0]["clusterID"], "hub");
}

#[test]
fn what_is_no_cluster_set_of_these_versions_is_an_error() {
    let mut old: Value = objects(OLD).remove(0);
    let error = convert(&old, "v9", &known().read()).unwrap_err();
    assert_eq!(
        error,
        "\"multicluster.crd.antrea.io/v1alpha1\" cannot become \"v9\": ClusterSets are of multicluster.crd.antrea.io/v1alpha1 and multicluster.crd.antrea.io/v1alpha2"
    );
    old["spec"] = "text".into();
    let error = convert(&old, "multicluster.crd.antrea.io/v1alpha2", &known().read()).unwrap_err();
    assert!(error.starts_with("the ClusterSet cannot be read: "), "{error}");
}
