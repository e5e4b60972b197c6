//! What is added to policies that are replicated.

use super::{answer, known};
use crate::Hook;

fn patch(verb: &str, yaml: &str) -> String {
    answer(&known(), Hook::MutateResourceExport, "admin", verb, yaml)
}

const POLICY: &str = "
metadata: {name: strict, namespace: mc}
spec: {kind: AntreaClusterNetworkPolicy, name: strict-x, clusterNetworkPolicy: {priority: 1}}
";

const WHOLE: &str = "
metadata:
  name: strict
  namespace: mc
  labels: {sourceName: strict-x, sourceNamespace: '', sourceKind: AntreaClusterNetworkPolicy}
  finalizers: [resourceexport.antrea.io/finalizer]
spec: {kind: AntreaClusterNetworkPolicy, name: strict-x, clusterNetworkPolicy: {priority: 1}}
";

#[test]
fn a_policy_gets_labels_and_the_finalizer() {
    insta::assert_snapshot!(patch("create", POLICY), @r#"
    {"op":"add","path":"/metadata/labels","value":{}}
    {"op":"add","path":"/metadata/labels/sourceName","value":"strict-x"}
    {"op":"add","path":"/metadata/labels/sourceNamespace","value":""}
    {"op":"add","path":"/metadata/labels/sourceKind","value":"AntreaClusterNetworkPolicy"}
    {"op":"add","path":"/metadata/finalizers","value":["resourceexport.antrea.io/finalizer"]}
    "#);
}

#[test]
fn labels_and_finalizers_of_others_stay() {
    let labelled =
        POLICY.replace("name: strict,", "name: strict, labels: {team: a, sourceName: b}, finalizers: [x/y],");
    insta::assert_snapshot!(patch("create", &labelled), @r#"
    {"op":"add","path":"/metadata/labels/sourceName","value":"strict-x"}
    {"op":"add","path":"/metadata/labels/sourceNamespace","value":""}
    {"op":"add","path":"/metadata/labels/sourceKind","value":"AntreaClusterNetworkPolicy"}
    {"op":"add","path":"/metadata/finalizers/-","value":"resourceexport.antrea.io/finalizer"}
    "#);
}

#[test]
fn what_has_all_is_left_alone() {
    assert_eq!(patch("create", WHOLE), "allowed");
    assert_eq!(patch("update", &format!("{WHOLE}---{WHOLE}")), "allowed");
    assert_eq!(patch("delete", POLICY), "allowed");
    assert_eq!(patch("create", "metadata: {name: a}\nspec: {kind: Service}"), "allowed");
}

#[test]
fn the_leader_can_let_go_what_is_being_deleted() {
    let leaving =
        WHOLE.replace("  name: strict\n", "  name: strict\n  deletionTimestamp: '2026-11-21T00:00:00Z'\n");
    let let_go = leaving.replace("[resourceexport.antrea.io/finalizer]", "[]");
    assert_eq!(patch("update", &format!("{leaving}---{let_go}")), "allowed");
}

#[test]
fn a_name_that_is_too_long_for_a_label_is_no_label() {
    let long = WHOLE.replace("strict-x", &"a".repeat(64));
    assert_eq!(patch("create", &long), "allowed");
}
