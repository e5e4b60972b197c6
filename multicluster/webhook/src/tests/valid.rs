//! Kinds that have to be valid, whoever writes them.

use super::{answer, known};
use crate::Hook;

#[track_caller]
fn check(hook: Hook, yaml: &str, expected: &str) {
    assert_eq!(answer(&known(), hook, "argo/argo", "create", yaml), expected);
    assert_eq!(answer(&known(), hook, "argo/argo", "delete", yaml), "allowed");
}

#[test]
fn what_is_wrong_is_said_by_field() {
    check(
        Hook::ClusterInfoImport,
        "{metadata: {name: a, namespace: kube-system}, spec: {clusterID: a, serviceCIDR: 10.0.0.0}}",
        "422: spec.serviceCIDR: \"10.0.0.0\" is not a CIDR, as 10.96.0.0/12",
    );
    check(
        Hook::LabelIdentity,
        "{metadata: {name: '0123456789abcdef'}, spec: {label: x, id: 0}}",
        "422: metadata.name: must be \"11f6ad8ec52a2984\"; spec.label: \"x\" is not of the form \"ns:KEY=VALUE,...&pod:KEY=VALUE,...\" with sorted keys; spec.id: 0 is not from 1 to 16777214",
    );
    check(
        Hook::ServiceExport,
        "{metadata: {name: web, namespace: shop}, spec: {exportedLabels: {'a b': c}}}",
        "422: spec.exportedLabels: \"a b\" is not a qualified name, as app or example.org/app",
    );
    check(
        Hook::ServiceImport,
        "{apiVersion: multicluster.x-k8s.io/v1alpha1, metadata: {name: web, namespace: shop}, spec: {type: Other, ports: []}}",
        "422: spec.type: \"Other\" is none of ClusterSetIP, Headless",
    );
}

#[test]
fn what_is_right_is_let_through() {
    check(
        Hook::ClusterInfoImport,
        "{metadata: {name: a, namespace: kube-system}, spec: {clusterID: a, serviceCIDR: 10.0.0.0/16}}",
        "allowed",
    );
    check(Hook::ServiceExport, "{metadata: {name: web, namespace: shop}}", "allowed");
    check(
        Hook::ServiceImport,
        "{metadata: {name: web, namespace: shop}, spec: {type: ClusterSetIP, ports: [{port: 80, protocol: TCP}]}}",
        "allowed",
    );
}
