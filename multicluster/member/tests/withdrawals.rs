//! What goes and comes back within a moment: nothing follows from it.

use std::time::Duration;

use antrea_kit::watch::WatchEvent;
use antrea_mc_member::area::Area;
use antrea_mc_member::kind::Kind;
use antrea_mc_member::objects::Key;
use serde_json::Value;

use crate::objects::Cluster;
use crate::{exports, imports};

const MILLISECOND: Duration = Duration::from_millis(1);

/// Somebody deletes an object of a cluster that had nothing left to do.
fn lose(cluster: &mut Cluster, area: &mut impl Area, key: &Key, now: Duration) -> Value {
    assert_eq!(cluster.settle(area), "");
    let change = cluster.objects.remove(key).pop().expect("it is there");
    area.learned(&cluster.objects, &change, now);
    change.before.unwrap()
}

fn regain(cluster: &mut Cluster, area: &mut impl Area, key: &Key, object: Value, now: Duration) {
    let changes = cluster.objects.learn(key.kind, WatchEvent::Applied(object));
    assert_eq!(changes.first().map(|change| &change.key), Some(key), "it was gone");
    changes.iter().for_each(|change| area.learned(&cluster.objects, change, now));
}

fn import(name: &str) -> Key {
    Key::new(Kind::ResourceImport, "area", name)
}

#[test]
fn an_import_that_comes_back_within_two_seconds_was_never_gone() {
    for name in ["shop-web-service", "shop-web-endpoints"] {
        let (mut cluster, mut importer) = (imports::web(), imports::importer());
        let lost = lose(&mut cluster, &mut importer, &import(name), Duration::ZERO);
        assert_eq!(importer.tick(&cluster.objects, 1999 * MILLISECOND).again, Some(2000 * MILLISECOND));
        assert_eq!(cluster.settle(&importer), "");
        regain(&mut cluster, &mut importer, &import(name), lost, 1999 * MILLISECOND);
        assert_eq!(importer.tick(&cluster.objects, 9000 * MILLISECOND).again, None);
        assert_eq!(cluster.settle(&importer), "");
    }
}

#[test]
fn an_import_that_does_not_come_back_is_withdrawn_after_two_seconds() {
    let (mut cluster, mut importer) = (imports::web(), imports::importer());
    lose(&mut cluster, &mut importer, &import("shop-web-service"), Duration::ZERO);
    assert_eq!(importer.tick(&cluster.objects, 2000 * MILLISECOND).changed.len(), 1);
    assert!(cluster.settle_briefly(&importer).contains("delete Service shop/antrea-mc-web\n"));
}

#[test]
fn a_service_waits_for_the_last_of_its_imports() {
    let (mut cluster, mut importer) = (imports::web(), imports::importer());
    let service = lose(&mut cluster, &mut importer, &import("shop-web-service"), Duration::ZERO);
    lose(&mut cluster, &mut importer, &import("shop-web-endpoints"), 1000 * MILLISECOND);
    regain(&mut cluster, &mut importer, &import("shop-web-service"), service, 1500 * MILLISECOND);
    assert_eq!(importer.tick(&cluster.objects, 2500 * MILLISECOND).changed, []);
    assert_eq!(cluster.settle(&importer), "", "its endpoints may still come back");
    assert_eq!(importer.tick(&cluster.objects, 3000 * MILLISECOND).changed.len(), 1);
    assert!(cluster.settle_briefly(&importer).contains("delete EndpointSlice"));
}

#[test]
fn another_cluster_keeps_its_routes_while_its_import_is_made_anew() {
    let (mut cluster, mut importer) = (Cluster::of(imports::CLUSTER), imports::importer());
    cluster.settle(&importer);
    lose(&mut cluster, &mut importer, &import("east-clusterinfo"), Duration::ZERO);
    assert_eq!(cluster.settle(&importer), "");
}

#[test]
fn the_number_of_labels_is_given_up_at_once() {
    let labels = "{kind: ResourceImport, metadata: {name: abc, namespace: area}, spec: {kind: LabelIdentity, labelIdentity: {label: 'ns:a=b&pod:', id: 7}}}";
    let (mut cluster, mut importer) = (Cluster::of(labels), imports::importer());
    cluster.settle(&importer);
    lose(&mut cluster, &mut importer, &import("abc"), Duration::ZERO);
    assert_eq!(cluster.settle_briefly(&importer), "delete LabelIdentity abc\n");
}

#[test]
fn the_cluster_info_stays_while_the_only_gateway_is_made_anew() {
    let (mut cluster, mut exporter) = (Cluster::of(exports::GATEWAY), exports::exporter());
    cluster.settle(&exporter);
    let key = Key::new(Kind::Gateway, "kube-system", "n1");
    let lost = lose(&mut cluster, &mut exporter, &key, Duration::ZERO);
    assert_eq!(cluster.settle(&exporter), "");
    regain(&mut cluster, &mut exporter, &key, lost, 100 * MILLISECOND);
    lose(&mut cluster, &mut exporter, &key, 9000 * MILLISECOND);
    assert_eq!(cluster.settle(&exporter), "");
    exporter.tick(&cluster.objects, 11_000 * MILLISECOND);
    assert_eq!(cluster.settle(&exporter), "delete ResourceExport area/west-clusterinfo\n");
}

#[test]
fn the_gateway_that_takes_over_is_told_at_once() {
    let second = exports::GATEWAY.replace("n1", "n2").replace("09:00", "09:10").replace("0.5", "0.6");
    let (mut cluster, mut exporter) =
        (Cluster::of(&format!("{}\n---\n{second}", exports::GATEWAY)), exports::exporter());
    cluster.settle(&exporter);
    lose(&mut cluster, &mut exporter, &Key::new(Kind::Gateway, "kube-system", "n1"), Duration::ZERO);
    assert_eq!(cluster.settle_briefly(&exporter), "patch ResourceExport area/west-clusterinfo\n");
}
