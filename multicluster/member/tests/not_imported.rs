//! What a member does not import, and why.

use std::collections::BTreeSet;

use antrea_mc_member::import::Importer;
use antrea_mc_member::kind::Kind;

use crate::imports::{CLUSTER, ENDPOINTS, NAMESPACE, SERVICE, importer, objects, web};
use crate::objects::Cluster;

#[test]
fn without_the_namespace_an_import_waits() {
    let mut cluster = Cluster::of(&objects(&[SERVICE, ENDPOINTS]));
    insta::assert_snapshot!(cluster.settle_briefly(&importer()), @"problem: there is no Namespace shop in this cluster; the import waits for it");
    cluster.apply(NAMESPACE);
    insta::assert_snapshot!(cluster.settle_briefly(&importer()), @"
    create Service shop/antrea-mc-web
    create EndpointSlice shop/antrea-mc-web-69c53c1a2b719824
    create EndpointSlice shop/antrea-mc-web-2c32b312984c2e64
    create ServiceImport shop/web
    patch status of ServiceImport shop/web
    ");
}

#[test]
fn nothing_is_imported_into_namespaces_that_are_excluded() {
    let excluding = Importer { excluded: BTreeSet::from(["shop".to_owned()]), ..importer() };
    let problem = "problem: Namespace shop is excluded by member.excludedNamespaces of the configuration\n";
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, SERVICE, ENDPOINTS]));
    let told = cluster.settle(&excluding);
    assert!(!told.is_empty() && told.replace(problem, "").is_empty(), "{told}");
    let mut before = web();
    insta::assert_snapshot!(before.settle_briefly(&excluding), @"
    delete ServiceImport shop/web
    delete EndpointSlice shop/antrea-mc-web-2c32b312984c2e64
    delete EndpointSlice shop/antrea-mc-web-69c53c1a2b719824
    delete Service shop/antrea-mc-web
    problem: Namespace shop is excluded by member.excludedNamespaces of the configuration
    ");
    for kind in [Kind::Service, Kind::EndpointSlice, Kind::ServiceImport] {
        assert_eq!(before.objects.all(kind).count(), 0, "what was imported before goes: {kind:?}");
    }
    insta::assert_snapshot!(Cluster::of(NAMESPACE).settle(&excluding), @"");
}

#[test]
fn foreign_objects_are_left_alone_and_reported() {
    let foreign =
        "{kind: Service, metadata: {name: antrea-mc-web, namespace: shop}, spec: {clusterIP: 10.96.7.7}}";
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, SERVICE, ENDPOINTS, foreign]));
    insta::assert_snapshot!(cluster.settle_briefly(&importer()), @"
    create ServiceImport shop/web
    patch status of ServiceImport shop/web
    problem: Service shop/antrea-mc-web is not of Multi-cluster, and is left alone; rename or delete it to import
    ");
    let foreign = "{kind: ServiceImport, metadata: {name: web, namespace: shop}, spec: {ips: [241.0.0.1]}}";
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, SERVICE, ENDPOINTS, foreign]));
    insta::assert_snapshot!(cluster.settle_briefly(&importer()), @"
    create Service shop/antrea-mc-web
    create EndpointSlice shop/antrea-mc-web-69c53c1a2b719824
    create EndpointSlice shop/antrea-mc-web-2c32b312984c2e64
    problem: ServiceImport shop/web is not of Multi-cluster, and is left alone; rename or delete it to import
    ");
}

#[test]
fn a_service_of_a_family_that_the_cluster_lacks_is_not_ready() {
    let service = SERVICE.replace("ipFamilies: [IPv4]", "ipFamilies: [IPv6]");
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, &service, ENDPOINTS]));
    insta::assert_snapshot!(cluster.settle(&importer()), @r#"
    create ServiceImport shop/web
      metadata.labels: {"team":"a"}
      metadata.annotations: {"multicluster.antrea.io/imported-service":"true","multicluster.antrea.io/exported-keys":"l:team"}
      spec.type: "ClusterSetIP"
      spec.ports: [{"name":"http","protocol":"TCP","appProtocol":"http","port":80}]
      spec.ips: []
      spec.sessionAffinity: "None"
      spec.ipFamilies: ["IPv6"]
    patch status of ServiceImport shop/web
      status.endpointSliceObjects: "Absent"
      status.clusters: [{"cluster":"east"}]
      status.conditions: [{"type":"Ready","status":"False","reason":"IPFamilyNotSupported","message":"the Service has addresses of IPv6 only, which this cluster does not have","lastTransitionTime":"2027-01-15T08:00:01Z"}]
    problem: the Service has addresses of IPv6 only, which this cluster does not have
    "#);
}

/// No object of the leader is copied: a Service is made of what is read of one.
#[test]
fn an_imported_service_has_a_cluster_ip_and_no_other_address_whatever_the_leader_says() {
    let more =
        ["externalIPs: [10.96.0.1]", "loadBalancerIP: 10.96.0.1", "ips: [10.96.0.1]", "selector: {app: db}"];
    let said = more.iter().map(|field| format!("\n      {field}")).collect::<String>();
    let said = SERVICE.replace("sessionAffinity: None", &format!("sessionAffinity: None{said}"));
    assert_ne!(said, SERVICE);
    let made = |service: &str| Cluster::of(&objects(&[NAMESPACE, service, ENDPOINTS])).settle(&importer());
    assert_eq!(made(&said), made(SERVICE));
}

#[test]
fn imports_for_other_clusters_are_not_ours() {
    let service = SERVICE.replace("spec:\n  kind", "spec:\n  clusterID: [east, north]\n  kind");
    assert_eq!(Cluster::of(&objects(&[NAMESPACE, &service])).settle(&importer()), "");
    let service = service.replace("north", "west");
    assert_ne!(Cluster::of(&objects(&[NAMESPACE, &service])).settle(&importer()), "");
}

#[test]
fn the_own_cluster_is_not_imported() {
    assert_eq!(Cluster::of(&CLUSTER.replace("east", "west")).settle(&importer()), "");
}

#[test]
fn an_import_that_cannot_be_read_withdraws_nothing() {
    let mut cluster = web();
    cluster.apply(&SERVICE.replace("port: 80", "port: many"));
    insta::assert_snapshot!(cluster.settle(&importer()), @r#"problem: ResourceImport area/shop-web-service is unusable: invalid type: string "many", expected i32"#);
}
