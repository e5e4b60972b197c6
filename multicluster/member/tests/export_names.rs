//! Which names the exports of a member have.

use antrea_mc_core::ids::NamespacedName;
use antrea_mc_core::names::{Names, Resource};
use antrea_mc_member::export::{Exporter, Membership};
use antrea_mc_member::kind::Kind;
use antrea_mc_member::objects::{Key, text};
use serde_json::{Value, json};

use crate::exports::{EXPORT, exporter};
use crate::objects::Cluster;

/// A Service with its ServiceExport.
fn service(namespace: &str, name: &str) -> String {
    EXPORT.replace("shop", namespace).replace("name: web", &format!("name: {name}"))
}

/// Upstream would give both one name.
fn two() -> [String; 2] {
    [service("shop", "web-api"), service("shop-web", "api")]
}

#[test]
fn two_services_never_share_an_export() {
    let [first, second] = two();
    let mut cluster = Cluster::of(&first);
    cluster.settle(&exporter());
    cluster.apply(&second);
    insta::assert_snapshot!(cluster.settle_briefly(&exporter()), @"
    create ResourceExport area/west-shop-web-api-service-aa6923a0767ee4e4
    create ResourceExport area/west-shop-web-api-endpoints-b15b21aa894e3044
    patch status of ServiceExport shop-web/api
    ");
}

#[test]
fn two_services_that_come_at_once_never_share_an_export() {
    let mut cluster = Cluster::of(&two().join("---\n"));
    cluster.settle(&exporter());
    let exports = cluster.objects.all(Kind::ResourceExport);
    let mut exported: Vec<String> = exports
        .map(|(key, export)| {
            let of = |field| text(export, field);
            format!("{}: {}/{}", key.name, of("/spec/namespace"), of("/spec/name"))
        })
        .collect();
    exported.sort();
    insta::assert_snapshot!(exported.join("\n"), @"
    west-shop-web-api-endpoints-b15b21aa894e3044: shop-web/api
    west-shop-web-api-endpoints: shop/web-api
    west-shop-web-api-service-aa6923a0767ee4e4: shop-web/api
    west-shop-web-api-service: shop/web-api
    ");
}

#[test]
fn a_name_has_a_hash_only_where_another_service_has_the_plain_one() {
    let [first, second] = two();
    let mut cluster = Cluster::of(&second);
    insta::assert_snapshot!(cluster.settle_briefly(&exporter()), @"
    create ResourceExport area/west-shop-web-api-service
    create ResourceExport area/west-shop-web-api-endpoints
    patch status of ServiceExport shop-web/api
    ");
    cluster.apply(&first);
    let told = cluster.settle_briefly(&exporter());
    assert!(told.starts_with("create ResourceExport area/west-shop-web-api-service-"), "{told}");
}

/// Gives all exports the names that they had where each Namespace with a dash meant a hash.
fn name_with_hashes(cluster: &mut Cluster) {
    let exports: Vec<(Key, Value)> = cluster
        .objects
        .all(Kind::ResourceExport)
        .map(|(key, export)| (key.clone(), export.clone()))
        .collect();
    for (key, mut export) in exports {
        export["metadata"]["name"] = hashed(&export).into();
        cluster.objects.remove(&key);
        cluster.objects.insert(Kind::ResourceExport, export);
    }
}

fn hashed(export: &Value) -> String {
    let name = NamespacedName::new(text(export, "/spec/namespace"), text(export, "/spec/name")).unwrap();
    let resource = match text(export, "/spec/kind") {
        "Service" => Resource::Service(name),
        _ => Resource::Endpoints(name),
    };
    Names::of_export(&exporter().cluster, &resource).hashed
}

#[test]
fn an_export_that_exists_keeps_its_name() {
    let services: Vec<String> = (0..100).map(|number| service(&format!("a-{number}"), "web")).collect();
    let mut cluster = Cluster::of(&services.join("---\n"));
    cluster.settle(&exporter());
    name_with_hashes(&mut cluster);
    assert_eq!(cluster.settle(&exporter()), "");
    cluster.delete(Kind::ServiceExport, "a-7", "web");
    assert_eq!(cluster.settle(&exporter()).matches("delete ResourceExport area/west-a-7-web-").count(), 2);
}

/// Of cluster-b, as they were recorded.
#[test]
fn exports_of_the_version_before_keep_their_names() {
    let recorded = include_str!("../../core/tests/golden/version-before.yaml");
    let is_own =
        |object: &&str| object.contains("kind: ResourceExport") && object.contains("clusterID: cluster-b");
    let exports: Vec<&str> = recorded.split("---\n").filter(is_own).collect();
    assert_eq!(exports.len(), 3);
    let mut cluster = Cluster::of(&(service("default", "nginx") + "---\n" + &exports.join("---\n")));
    let membership = Membership::Joined { area: "antrea-multicluster".to_owned(), unreachable: None };
    let log = cluster.settle(&Exporter { cluster: "cluster-b".parse().unwrap(), membership, ..exporter() });
    let changes = |verb: &str| {
        log.matches(&format!("{verb} ResourceExport antrea-multicluster/cluster-b-default-nginx-")).count()
    };
    assert_eq!((changes("create"), changes("delete"), changes("patch")), (0, 0, 2), "{log}");
}

#[test]
fn an_export_under_a_second_name_goes_while_the_first_is_there() {
    let mut cluster = Cluster::of(&service("shop-web", "api"));
    cluster.settle(&exporter());
    let key = Key::new(Kind::ResourceExport, "area", "west-shop-web-api-service");
    let mut first = cluster.objects.get(&key).unwrap().clone();
    let mut second = first.clone();
    second["metadata"]["name"] = hashed(&second).into();
    cluster.objects.insert(Kind::ResourceExport, second);
    first["metadata"]["deletionTimestamp"] = json!("2026-11-21T09:48:02Z");
    cluster.objects.insert(Kind::ResourceExport, first.clone());
    assert_eq!(cluster.settle(&exporter()), "", "the leader has not let the first one go");
    first["metadata"]["deletionTimestamp"] = Value::Null;
    cluster.objects.insert(Kind::ResourceExport, first);
    insta::assert_snapshot!(cluster.settle(&exporter()), @"delete ResourceExport area/west-shop-web-api-service-aa6923a0767ee4e4");
}

#[test]
fn an_export_of_another_cluster_is_not_taken_for_ours() {
    let of_east = |name: &str| {
        format!(
            "{{kind: ResourceExport, metadata: {{name: {name}, namespace: area}}, spec: {{clusterID: east, kind: Service, \
             namespace: shop-web, name: api}}}}\n---\n"
        )
    };
    let mut cluster = Cluster::of(&(of_east("west-shop-web-api-service") + &service("shop-web", "api")));
    insta::assert_snapshot!(cluster.settle_briefly(&exporter()), @"
    create ResourceExport area/west-shop-web-api-service-aa6923a0767ee4e4
    create ResourceExport area/west-shop-web-api-endpoints
    patch status of ServiceExport shop-web/api
    ");
    let mut cluster = Cluster::of(&(of_east("west-shop-web-service") + &service("shop", "web")));
    insta::assert_snapshot!(cluster.settle_briefly(&exporter()), @"
    patch status of ServiceExport shop/web
    create Event shop/web.18fae27693b40000
    problem: ResourceExport area/west-shop-web-service has the name of an export of this cluster, and is none: delete it in the leader cluster
    ");
}
