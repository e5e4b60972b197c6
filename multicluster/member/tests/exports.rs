//! What a member exports.

use std::collections::{BTreeMap, BTreeSet};

use antrea_mc_core::addresses::EndpointAddresses;
use antrea_mc_member::export::{Exported, ExportedPods, Exporter, Membership, Networks};
use antrea_mc_member::kind::Kind;
use antrea_mc_member::objects::Key;
use antrea_mc_member::withdrawals::Withdrawals;

use crate::objects::Cluster;

pub(crate) fn exporter() -> Exporter {
    Exporter {
        cluster: "west".parse().unwrap(),
        namespace: "kube-system".to_owned(),
        addresses: EndpointAddresses::ClusterIps,
        networks: Networks {
            service_cidrs: vec!["10.96.0.0/16".parse().unwrap()],
            pod_cidrs: vec!["10.10.0.0/16".parse().unwrap()],
        },
        pods: ExportedPods { networks: vec!["10.10.0.0/16".parse().unwrap()], at_home: None },
        nodes: Vec::new(),
        membership: Membership::Joined { area: "area".to_owned(), unreachable: None },
        excluded: BTreeSet::new(),
        refusals: BTreeMap::new(),
        refused_once: BTreeSet::new(),
        withdrawals: Withdrawals::default(),
        exported: Exported::default(),
    }
}

pub(crate) const EXPORT: &str = "
kind: ServiceExport
metadata: {name: web, namespace: shop, generation: 1, creationTimestamp: '2026-11-21T09:48:02Z'}
---
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: ClusterIP, clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ipFamilies: [IPv4], ports: [{name: http, port: 80, protocol: TCP, targetPort: 8080}]}
---
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.10.1.5]}, {addresses: [10.10.1.6], conditions: {ready: false}}]
";

/// The leader has taken all exports.
pub(crate) fn taken(cluster: &mut Cluster, conditions: &str) {
    let exports: Vec<_> =
        cluster.objects.all(Kind::ResourceExport).map(|(_, export)| export.clone()).collect();
    for mut export in exports {
        export["status"] = serde_saphyr::from_str(&format!("conditions: [{conditions}]")).unwrap();
        cluster.objects.insert(Kind::ResourceExport, export);
    }
}

pub(crate) const SUCCEEDED: &str = "{type: Succeeded, status: 'True'}";

pub(crate) fn exported() -> Cluster {
    let mut cluster = Cluster::of(EXPORT);
    cluster.settle(&exporter());
    taken(&mut cluster, SUCCEEDED);
    cluster.settle(&exporter());
    cluster
}

#[test]
fn a_service_is_exported_with_its_cluster_ip() {
    let mut cluster = Cluster::of(EXPORT);
    insta::assert_snapshot!(cluster.settle(&exporter()));
    taken(&mut cluster, SUCCEEDED);
    insta::assert_snapshot!(cluster.settle(&exporter()), @r#"
    patch status of ServiceExport shop/web
      status.conditions: [{"type":"Valid","status":"True","reason":"Valid","message":"The Service can be exported","lastTransitionTime":"2027-01-15T08:00:00Z","observedGeneration":1},{"type":"Ready","status":"True","reason":"Exported","message":"The Service is exported successfully","lastTransitionTime":"2027-01-15T08:00:02Z","observedGeneration":1}]
    "#);
}

#[test]
fn pods_are_exported_where_they_can_be_reached() {
    let exporter = Exporter { addresses: EndpointAddresses::PodIps, ..exporter() };
    insta::assert_snapshot!(Cluster::of(EXPORT).settle(&exporter));
}

#[test]
fn what_the_leader_lost_is_exported_again() {
    let mut cluster = exported();
    cluster.delete(Kind::ResourceExport, "area", "west-shop-web-endpoints");
    cluster.delete(Kind::ResourceExport, "area", "west-shop-web-service");
    insta::assert_snapshot!(cluster.settle_briefly(&exporter()), @"
    create ResourceExport area/west-shop-web-service
    create ResourceExport area/west-shop-web-endpoints
    patch status of ServiceExport shop/web
    ");
}

#[test]
fn what_others_changed_at_the_leader_is_repaired() {
    let mut cluster = exported();
    let key = Key::new(Kind::ResourceExport, "area", "west-shop-web-endpoints");
    let mut export = cluster.objects.get(&key).unwrap().clone();
    export["spec"]["endpoints"]["subsets"][0]["addresses"][0]["ip"] = "10.9.9.9".into();
    cluster.objects.insert(Kind::ResourceExport, export);
    insta::assert_snapshot!(cluster.settle(&exporter()), @r#"
    patch ResourceExport area/west-shop-web-endpoints
      spec.endpoints: {"subsets":[{"addresses":[{"ip":"10.96.0.7"}],"ports":[{"name":"http","port":80,"protocol":"TCP"}]}]}
    "#);
}

#[test]
fn what_is_no_longer_exported_is_withdrawn() {
    let mut cluster = exported();
    cluster.delete(Kind::ServiceExport, "shop", "web");
    insta::assert_snapshot!(cluster.settle_briefly(&exporter()), @"
    delete ResourceExport area/west-shop-web-endpoints
    delete ResourceExport area/west-shop-web-service
    ");
}

#[test]
fn nothing_is_exported_of_namespaces_that_are_excluded() {
    let mut cluster = exported();
    let excluding = Exporter { excluded: BTreeSet::from(["shop".to_owned()]), ..exporter() };
    let told = cluster.settle(&excluding);
    for said in [
        "delete ResourceExport area/west-shop-web-endpoints\n",
        "delete ResourceExport area/west-shop-web-service\n",
        r#"{"type":"Valid","status":"False","reason":"ExcludedNamespace","#,
        r#"{"type":"Ready","status":"False","reason":"Failed","#,
    ] {
        assert!(told.contains(said), "{said} is not in {told}");
    }
}

#[test]
fn exports_of_other_clusters_are_left_alone() {
    let other = "{kind: ResourceExport, metadata: {name: east-shop-web-service, namespace: area}, spec: {clusterID: east, kind: Service, namespace: shop, name: web}}";
    assert_eq!(Cluster::of(other).settle(&exporter()), "");
}

pub(crate) const GATEWAY: &str = "{kind: Gateway, metadata: {name: n1, namespace: kube-system, creationTimestamp: '2026-11-21T09:00:00Z'}, gatewayIP: 172.18.0.5, internalIP: 172.18.0.5}";

/// What the Gateway says where nothing is exported.
const LISTED: &str = "exported: {mode: Listed, podCIDRs: [10.10.0.0/16]}";

#[test]
fn the_cluster_info_stays_while_one_gateway_takes_over_from_another() {
    let mut cluster = Cluster::of(GATEWAY);
    insta::assert_snapshot!(cluster.settle(&exporter()), @r#"
    create ResourceExport area/west-clusterinfo
      metadata.labels: {"sourceClusterID":"west","sourceKind":"ClusterInfo"}
      metadata.finalizers: ["resourceexport.antrea.io/finalizer"]
      spec.clusterID: "west"
      spec.namespace: "kube-system"
      spec.name: "west"
      spec.kind: "ClusterInfo"
      spec.clusterInfo: {"clusterID":"west","serviceCIDR":"10.96.0.0/16","gatewayInfos":[{"gatewayIP":"172.18.0.5"}],"podCIDRs":["10.10.0.0/16"]}
    patch Gateway kube-system/n1
      exported.mode: "Listed"
      exported.addresses: []
      exported.podCIDRs: ["10.10.0.0/16"]
    "#);
    let second = GATEWAY.replace("n1", "n2").replace("09:00", "09:10").replace("0.5", "0.6");
    cluster.apply(&second.replace("gatewayIP", &format!("{LISTED}, gatewayIP")));
    insta::assert_snapshot!(cluster.settle(&exporter()), @r#"
    patch ResourceExport area/west-clusterinfo
      spec.clusterInfo: {"gatewayInfos":[{"gatewayIP":"172.18.0.5"},{"gatewayIP":"172.18.0.6"}]}
    "#);
    cluster.delete(Kind::Gateway, "kube-system", "n1");
    insta::assert_snapshot!(cluster.settle(&exporter()), @r#"
    patch ResourceExport area/west-clusterinfo
      spec.clusterInfo: {"gatewayInfos":[{"gatewayIP":"172.18.0.6"}]}
    "#);
    cluster.delete(Kind::Gateway, "kube-system", "n2");
    insta::assert_snapshot!(cluster.settle(&exporter()), @"delete ResourceExport area/west-clusterinfo");
}

#[test]
fn the_cluster_info_says_which_tunnel_the_gateway_has() {
    let listed = GATEWAY.replace("internalIP:", &format!("{LISTED}, internalIP:"));
    let with = |tunnel: &str| listed.replace("internalIP:", &format!("status: {{{tunnel}}}, internalIP:"));
    let mut cluster = Cluster::of(&listed);
    assert!(!cluster.settle(&exporter()).contains("tunnel"), "its agent does not say");
    cluster.apply(&with("probe: {}, tunnel: {type: vxlan, port: 4789}"));
    insta::assert_snapshot!(cluster.settle(&exporter()), @r#"
    patch ResourceExport area/west-clusterinfo
      spec.clusterInfo: {"tunnel":{"type":"vxlan","port":4789}}
    "#);
    cluster.apply(&with("probe: {}, tunnel: {type: gre}"));
    insta::assert_snapshot!(cluster.settle(&exporter()), @r#"
    patch ResourceExport area/west-clusterinfo
      spec.clusterInfo: {"tunnel":{"type":"gre","port":null}}
    "#);
}

#[test]
fn what_cannot_be_read_is_not_withdrawn() {
    let check = |mut cluster: Cluster, unreadable: &str, named: &str| {
        cluster.apply(unreadable);
        let said = cluster.settle(&exporter());
        assert!(said.starts_with(&format!("problem: {named} cannot be read")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    };
    check(
        exported(),
        "{kind: ServiceExport, metadata: {name: web, namespace: shop}, spec: {exportedLabels: 7}}",
        "ServiceExport shop/web",
    );
    check(
        exported(),
        "{kind: Service, metadata: {name: web, namespace: shop}, spec: {type: ClusterIP, ports: http}}",
        "Service shop/web",
    );
    check(
        exported(),
        "{kind: EndpointSlice, metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}, addressType: IPv4, endpoints: 7}",
        "EndpointSlice shop/web-1",
    );
    let mut with_gateway = Cluster::of(GATEWAY);
    with_gateway.settle(&exporter());
    let unreadable = format!("{LISTED}, gatewayIP: 7");
    check(with_gateway, &GATEWAY.replace("gatewayIP: 172.18.0.5", &unreadable), "Gateway kube-system/n1");
}
