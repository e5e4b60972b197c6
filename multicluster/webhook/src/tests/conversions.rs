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
fn a_claim_tells_the_cluster() {
    let known = known();
    let claim = "{metadata: {name: id.k8s.io, namespace: kube-system}, value: claimed}";
    known.learn("kube-system", Event::ClusterClaim(WatchEvent::Resynced(objects(claim))));
    let old: Value = objects(OLD).remove(0);
    assert_eq!(converted(&known, &old, "v1alpha2")["spec"]["clusterID"], "claimed");
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
