//! What a member makes of ResourceImports.

use std::collections::{BTreeMap, BTreeSet};

use antrea_mc_core::addresses::EndpointAddresses;
use antrea_mc_member::LabelIdentities;
use antrea_mc_member::import::{Beyond, ImportLimits, Importer};
use antrea_mc_member::kind::Kind;
use antrea_mc_member::objects::Key;
use antrea_mc_member::withdrawals::Withdrawals;
use antrea_types::IpFamily;
use serde_json::{Value, json};

use crate::objects::Cluster;

pub(crate) fn importer() -> Importer {
    Importer {
        cluster: "west".parse().unwrap(),
        namespace: "kube-system".to_owned(),
        area: "area".to_owned(),
        families: vec![IpFamily::V4],
        addresses: EndpointAddresses::ClusterIps,
        own_networks: Vec::new(),
        excluded: BTreeSet::new(),
        labels: LabelIdentities::Exported,
        limits: ImportLimits::default(),
        beyond: Beyond::default(),
        withdrawals: Withdrawals::default(),
    }
}

pub(crate) const NAMESPACE: &str = "{kind: Namespace, metadata: {name: shop}}";

pub(crate) const SERVICE: &str = "
kind: ResourceImport
metadata: {name: shop-web-service, namespace: area, resourceVersion: '7'}
spec:
  kind: ServiceImport
  namespace: shop
  name: web
  serviceImport:
    metadata: {labels: {team: a}}
    spec:
      type: ClusterSetIP
      ports: [{name: http, port: 80, protocol: TCP, appProtocol: http}]
      ipFamilies: [IPv4]
      sessionAffinity: None
    status: {clusters: [{cluster: east}]}";

pub(crate) const ENDPOINTS: &str = "
kind: ResourceImport
metadata: {name: shop-web-endpoints, namespace: area}
spec:
  kind: Endpoints
  namespace: shop
  name: web
  endpoints:
    clusters:
    - clusterID: east
      endpointSlices:
      - addressType: IPv4
        ports: [{name: http, port: 80, protocol: TCP}]
        endpoints: [{addresses: [10.2.0.1]}, {addresses: [10.2.0.2], conditions: {ready: false, serving: true, terminating: true}}]
    - clusterID: south
      endpointSlices:
      - addressType: IPv4
        ports: [{name: http, port: 80, protocol: TCP}]
        endpoints: [{addresses: [10.3.0.1]}]";

pub(crate) fn objects(all: &[&str]) -> String {
    all.join("\n---\n")
}

pub(crate) fn web() -> Cluster {
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, SERVICE, ENDPOINTS]));
    cluster.settle(&importer());
    cluster
}

#[test]
fn a_service_becomes_a_service_slices_of_each_cluster_and_a_service_import() {
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, SERVICE, ENDPOINTS]));
    insta::assert_snapshot!(cluster.settle(&importer()));
}

#[test]
fn five_hundred_services_take_one_request_an_object_and_one_for_the_status() {
    let of = |number: u32| {
        let rename = |import: &str| import.replace("web", &format!("web{number}"));
        [rename(SERVICE), rename(ENDPOINTS)]
    };
    let imports: Vec<String> = (0..500).flat_map(of).collect();
    let mut all: Vec<&str> = imports.iter().map(String::as_str).collect();
    all.push(NAMESPACE);
    let log = Cluster::of(&objects(&all)).settle_briefly(&importer());
    let mut requests: BTreeMap<&str, u32> = BTreeMap::new();
    for (request, _) in log.lines().filter_map(|line| line.rsplit_once(' ')) {
        *requests.entry(request).or_default() += 1;
    }
    let expected = [
        // From two clusters each.
        ("create EndpointSlice", 1000),
        ("create Service", 500),
        ("create ServiceImport", 500),
        ("patch status of ServiceImport", 500),
    ];
    assert_eq!(requests, BTreeMap::from(expected));
}

#[test]
fn a_service_prefers_what_is_close_in_the_word_that_all_api_servers_know() {
    let key = Key::new(Kind::Service, "shop", "antrea-mc-web");
    for (word, expected) in [
        ("PreferSameNode", json!("PreferClose")),
        ("PreferClose", json!("PreferClose")),
        ("null", Value::Null),
    ] {
        let spec = format!("sessionAffinity: None\n      trafficDistribution: {word}");
        let import = SERVICE.replace("sessionAffinity: None", &spec);
        let mut cluster = Cluster::of(&objects(&[NAMESPACE, &import, ENDPOINTS]));
        cluster.settle(&importer());
        assert_eq!(cluster.objects.get(&key).unwrap()["spec"]["trafficDistribution"], expected, "{word}");
    }
}

#[test]
fn what_is_deleted_comes_back() {
    let mut cluster = web();
    cluster.delete(Kind::Service, "shop", "antrea-mc-web");
    cluster.delete(Kind::ServiceImport, "shop", "web");
    insta::assert_snapshot!(cluster.settle_briefly(&importer()), @"
    create Service shop/antrea-mc-web
    patch EndpointSlice shop/antrea-mc-web-69c53c1a2b719824
    patch EndpointSlice shop/antrea-mc-web-2c32b312984c2e64
    create ServiceImport shop/web
    patch status of ServiceImport shop/web
    ");
}

#[test]
fn what_is_edited_is_repaired() {
    let mut cluster = web();
    cluster.apply("
kind: Service
metadata: {name: antrea-mc-web, namespace: shop, uid: uid-1, annotations: {multicluster.antrea.io/imported-service: 'true'}, labels: {multicluster.kubernetes.io/service-name: web, mine: 'yes'}}
spec: {type: ClusterIP, clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1], sessionAffinity: ClientIP, internalTrafficPolicy: Cluster, ports: [{name: http, port: 81, protocol: TCP, targetPort: 81}], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack}");
    insta::assert_snapshot!(cluster.settle(&importer()), @r#"
    patch Service shop/antrea-mc-web
      spec.ports: [{"name":"http","protocol":"TCP","appProtocol":"http","port":80,"targetPort":80}]
      spec.sessionAffinity: "None"
    "#);
}

/// What others write on the ServiceImport `web`.
fn edit(cluster: &mut Cluster, edit: impl FnOnce(&mut Value)) {
    let mut import = cluster.objects.get(&Key::new(Kind::ServiceImport, "shop", "web")).unwrap().clone();
    edit(&mut import["metadata"]);
    cluster.objects.insert(Kind::ServiceImport, import);
}

#[test]
fn labels_and_annotations_of_others_on_a_service_import_stay() {
    let mut cluster = web();
    edit(&mut cluster, |metadata| {
        metadata["labels"]["argocd.argoproj.io/instance"] = "x".into();
        metadata["annotations"]["external-dns.alpha.kubernetes.io/ttl"] = "60".into();
    });
    assert_eq!(cluster.settle(&importer()), "");
    cluster.apply(&SERVICE.replace("{labels: {team: a}}", "{annotations: {note: b}}"));
    insta::assert_snapshot!(cluster.settle(&importer()), @r#"
    patch ServiceImport shop/web
      metadata.labels: {"team":null}
      metadata.annotations: {"note":"b","multicluster.antrea.io/exported-keys":"a:note"}
    "#);
    edit(&mut cluster, |metadata| metadata["annotations"]["note"] = "mine".into());
    insta::assert_snapshot!(cluster.settle(&importer()), @r#"
    patch ServiceImport shop/web
      metadata.annotations: {"note":"b"}
    "#);
}

#[test]
fn what_stands_on_a_service_import_of_an_earlier_version_stays() {
    let mut cluster = web();
    edit(&mut cluster, |metadata| {
        metadata["annotations"].as_object_mut().unwrap().remove("multicluster.antrea.io/exported-keys");
        metadata["labels"]["mine"] = "yes".into();
    });
    insta::assert_snapshot!(cluster.settle(&importer()), @r#"
    patch ServiceImport shop/web
      metadata.annotations: {"multicluster.antrea.io/exported-keys":"l:team"}
    "#);
}

#[test]
fn what_is_no_longer_exported_goes_and_nothing_else() {
    let mut cluster = web();
    cluster.apply("{kind: Service, metadata: {name: web, namespace: shop}}\n---\n{kind: Service, metadata: {name: antrea-mc-mine, namespace: shop}}\n---\n{kind: ServiceImport, metadata: {name: other, namespace: shop}}");
    cluster.delete(Kind::ResourceImport, "area", "shop-web-service");
    cluster.delete(Kind::ResourceImport, "area", "shop-web-endpoints");
    insta::assert_snapshot!(cluster.settle_briefly(&importer()), @"
    delete ServiceImport shop/web
    delete EndpointSlice shop/antrea-mc-web-2c32b312984c2e64
    delete EndpointSlice shop/antrea-mc-web-69c53c1a2b719824
    delete Service shop/antrea-mc-web
    ");
}

#[test]
fn a_cluster_that_no_longer_exports_loses_its_slices() {
    let mut cluster = web();
    cluster.apply(&ENDPOINTS.replace("clusterID: south", "clusterID: north"));
    insta::assert_snapshot!(cluster.settle_briefly(&importer()), @"
    create EndpointSlice shop/antrea-mc-web-b797ca61f62af724
    delete EndpointSlice shop/antrea-mc-web-2c32b312984c2e64
    ");
}

#[test]
fn subsets_of_an_upstream_leader_are_read_and_repetitions_dropped() {
    let endpoints = "
kind: ResourceImport
metadata: {name: shop-web-endpoints, namespace: area}
spec:
  kind: Endpoints
  namespace: shop
  name: web
  endpoints:
    subsets:
    - {addresses: [{ip: 10.2.0.2}], ports: [{name: http, port: 80, protocol: TCP}]}
    - {addresses: [{ip: 10.2.0.2}, {ip: 10.2.0.1}], ports: [{name: http, port: 80, protocol: TCP}]}
    - {addresses: [{ip: 10.3.0.1}], ports: [{name: http, port: 8080, protocol: TCP}]}";
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, SERVICE, endpoints]));
    insta::assert_snapshot!(cluster.settle(&importer()));
}

#[test]
fn a_headless_service_has_no_address_and_hostnames() {
    let service = SERVICE.replace("type: ClusterSetIP", "type: Headless");
    let endpoints = ENDPOINTS.replace("{addresses: [10.2.0.1]}", "{addresses: [10.2.0.1], hostname: web-0}");
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, &service, &endpoints]));
    insta::assert_snapshot!(cluster.settle(&importer()));
}

#[test]
fn a_service_that_becomes_headless_is_made_anew() {
    let mut cluster = web();
    cluster.apply(&SERVICE.replace("type: ClusterSetIP", "type: Headless"));
    insta::assert_snapshot!(cluster.settle_briefly(&importer()), @"
    delete Service shop/antrea-mc-web
    patch ServiceImport shop/web
    create Service shop/antrea-mc-web
    patch EndpointSlice shop/antrea-mc-web-69c53c1a2b719824
    patch EndpointSlice shop/antrea-mc-web-2c32b312984c2e64
    ");
}

#[test]
fn a_long_name_gets_a_hash() {
    let long = "a".repeat(63);
    let service = SERVICE
        .replace("shop-web-service", &format!("shop-{long}-service"))
        .replace("name: web", &format!("name: {long}"));
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, &service]));
    insta::assert_snapshot!(cluster.settle_briefly(&importer()), @"
    create Service shop/antrea-mc-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-7d3e74a05d7db15b
    create ServiceImport shop/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    patch status of ServiceImport shop/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    ");
    cluster.delete(Kind::ResourceImport, "area", &format!("shop-{long}-service"));
    insta::assert_snapshot!(cluster.settle_briefly(&importer()), @"
    delete ServiceImport shop/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    delete Service shop/antrea-mc-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-7d3e74a05d7db15b
    ");
}

pub(crate) const CLUSTER: &str = "
kind: ResourceImport
metadata: {name: east-clusterinfo, namespace: area}
spec: {kind: ClusterInfo, name: east-clusterinfo, namespace: area, clusterinfo: {clusterID: east, serviceCIDR: 10.2.0.0/16, podCIDRs: [10.20.0.0/16], gatewayInfos: [{gatewayIP: 172.18.0.5}]}}";

#[test]
fn other_clusters_are_imported_and_follow_the_leader() {
    let mut cluster = Cluster::of(CLUSTER);
    insta::assert_snapshot!(cluster.settle(&importer()), @r#"
    create ClusterInfoImport kube-system/east-clusterinfo
      spec.clusterID: "east"
      spec.serviceCIDR: "10.2.0.0/16"
      spec.gatewayInfos: [{"gatewayIP":"172.18.0.5"}]
      spec.podCIDRs: ["10.20.0.0/16"]
    "#);
    cluster.apply(&CLUSTER.replace("podCIDRs: [10.20.0.0/16], ", ""));
    insta::assert_snapshot!(cluster.settle(&importer()), @"
    patch ClusterInfoImport kube-system/east-clusterinfo
      spec.podCIDRs: null
    ");
    cluster.delete(Kind::ResourceImport, "area", "east-clusterinfo");
    insta::assert_snapshot!(cluster.settle(&importer()), @"delete ClusterInfoImport kube-system/east-clusterinfo");
}

#[test]
fn numbers_of_labels_are_imported_and_follow_the_leader() {
    let import = "{kind: ResourceImport, metadata: {name: 3c62ea4851ac2068, namespace: area}, spec: {kind: LabelIdentity, labelIdentity: {label: 'ns:team=a&pod:app=fe', id: 1}}}";
    let mut cluster = Cluster::of(import);
    insta::assert_snapshot!(cluster.settle(&importer()), @r#"
    create LabelIdentity 3c62ea4851ac2068
      spec.label: "ns:team=a&pod:app=fe"
      spec.id: 1
    "#);
    cluster.apply(&import.replace("id: 1", "id: 2"));
    insta::assert_snapshot!(cluster.settle(&importer()), @"
    patch LabelIdentity 3c62ea4851ac2068
      spec.id: 2
    ");
}

#[test]
fn labels_are_imported_where_policies_select_them_alone() {
    let import = "{kind: ResourceImport, metadata: {name: 3c62ea4851ac2068, namespace: area}, spec: {kind: LabelIdentity, labelIdentity: {label: 'ns:team=a&pod:app=fe', id: 1}}}";
    let off = Importer { labels: LabelIdentities::Kept, ..importer() };
    let mut cluster = Cluster::of(import);
    assert_eq!(cluster.settle(&off), "");
    cluster.settle(&importer());
    insta::assert_snapshot!(cluster.settle(&off), @"delete LabelIdentity 3c62ea4851ac2068");
}
