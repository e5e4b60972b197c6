//! The label sets that a member exports.

use antrea_mc_member::area::Area;
use antrea_mc_member::export::{LabelExporter, LabelIdentities, Membership};
use antrea_mc_member::kind::Kind;

use crate::objects::Cluster;

fn exporter() -> LabelExporter {
    let membership = Membership::Joined { area: "area".to_owned(), unreachable: None };
    LabelExporter { cluster: "west".parse().unwrap(), membership, labels: LabelIdentities::Exported }
}

const PODS: &str = "
{kind: Namespace, metadata: {name: shop, labels: {kubernetes.io/metadata.name: shop, team: a}}}
---
{kind: Pod, metadata: {name: fe-0, namespace: shop, labels: {app: fe}}}
---
{kind: Pod, metadata: {name: fe-1, namespace: shop, labels: {app: fe}}}
";

#[test]
fn each_set_of_labels_is_exported_once_as_upstream_does() {
    insta::assert_snapshot!(Cluster::of(PODS).settle(&exporter()), @r#"
    create ResourceExport area/west-3c62ea4851ac2068
      metadata.labels: {"sourceClusterID":"west","sourceKind":"LabelIdentity"}
      spec.clusterID: "west"
      spec.kind: "LabelIdentity"
      spec.labelIdentity: {"normalizedLabel":"ns:kubernetes.io/metadata.name=shop,team=a&pod:app=fe"}
    "#);
}

#[test]
fn a_set_that_the_last_pod_loses_is_withdrawn() {
    let mut cluster = Cluster::of(PODS);
    cluster.settle(&exporter());
    cluster.delete(Kind::Pod, "shop", "fe-0");
    assert_eq!(cluster.settle(&exporter()), "");
    cluster.delete(Kind::Pod, "shop", "fe-1");
    insta::assert_snapshot!(cluster.settle(&exporter()), @"delete ResourceExport area/west-3c62ea4851ac2068");
}

#[test]
fn labels_of_the_namespace_are_part_of_the_set() {
    let mut cluster = Cluster::of(PODS);
    cluster.settle(&exporter());
    cluster.apply(
        "{kind: Namespace, metadata: {name: shop, labels: {kubernetes.io/metadata.name: shop, team: b}}}",
    );
    insta::assert_snapshot!(cluster.settle_briefly(&exporter()), @"
    create ResourceExport area/west-00aa3698d25830d3
    delete ResourceExport area/west-3c62ea4851ac2068
    ");
}

#[test]
fn labels_that_are_kept_are_withdrawn() {
    let mut cluster = Cluster::of(PODS);
    cluster.settle(&exporter());
    let keeping = LabelExporter { labels: LabelIdentities::Kept, ..exporter() };
    insta::assert_snapshot!(cluster.settle(&keeping), @"delete ResourceExport area/west-3c62ea4851ac2068");
    assert_eq!(keeping.kinds(), [Kind::ResourceExport], "the controller may not read Pods then");
}

#[test]
fn exports_of_others_and_of_other_kinds_are_left_alone() {
    let others = "
{kind: ResourceExport, metadata: {name: east-1, namespace: area}, spec: {clusterID: east, kind: LabelIdentity, labelIdentity: {normalizedLabel: 'ns:kubernetes.io/metadata.name=shop&pod:'}}}
---
{kind: ResourceExport, metadata: {name: west-clusterinfo, namespace: area}, spec: {clusterID: west, kind: ClusterInfo}}
---
{kind: ResourceExport, metadata: {name: west-2, namespace: area}, spec: {clusterID: west, kind: LabelIdentity, labelIdentity: {normalizedLabel: 'ns:kubernetes.io/metadata.name=gone&pod:'}}}";
    insta::assert_snapshot!(Cluster::of(others).settle(&exporter()), @"delete ResourceExport area/west-2");
}
