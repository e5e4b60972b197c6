//! What a member exports, and what it says of that.

use std::collections::{BTreeMap, BTreeSet};

use antrea_mc_core::addresses::EndpointAddresses;
use antrea_mc_core::names::Naming;
use antrea_mc_member::export::{Exporter, Membership, Networks, Subject};
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
        membership: Membership::Joined {
            area: "area".to_owned(),
            naming: Naming::Upstream,
            unreachable: None,
        },
        excluded: BTreeSet::new(),
        refusals: BTreeMap::new(),
        withdrawals: Withdrawals::default(),
    }
}

const EXPORT: &str = "
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
fn taken(cluster: &mut Cluster, conditions: &str) {
    let exports: Vec<_> =
        cluster.objects.all(Kind::ResourceExport).map(|(_, export)| export.clone()).collect();
    for mut export in exports {
        export["status"] = serde_saphyr::from_str(&format!("conditions: [{conditions}]")).unwrap();
        cluster.objects.insert(Kind::ResourceExport, export);
    }
}

const SUCCEEDED: &str = "{type: Succeeded, status: 'True'}";

fn exported() -> Cluster {
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
fn what_the_leader_refuses_is_said_before_it_is_tried_again() {
    let refusing = |why: &str| {
        let subject = Subject::Service("shop".to_owned(), "web".to_owned());
        Exporter { refusals: BTreeMap::from([(subject, why.to_owned())]), ..exporter() }
    };
    let mut cluster = Cluster::of(EXPORT);
    let ready = [
        "\"Ready\",\"status\":\"False\",\"reason\":\"Failed\",\"message\":\"no network of west\"",
        "create Event",
    ];
    let told = cluster.plan(&refusing("no network of west"));
    let (said, tried) = told.split_once("create ResourceExport").unwrap();
    assert!(ready.iter().all(|text| said.contains(text)), "{told}");
    assert!(tried.contains("create ResourceExport"), "{told}");
    cluster.settle(&exporter());
    taken(&mut cluster, SUCCEEDED);
    let unchanged = cluster.plan(&refusing("no network of west"));
    assert!(unchanged.contains(ready[0]), "what it took of before is not what is exported: {unchanged}");
    insta::assert_snapshot!(cluster.settle_briefly(&exporter()), @"patch status of ServiceExport shop/web");
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

#[test]
fn a_service_that_cannot_be_exported_is_withdrawn_and_says_why() {
    let mut cluster = exported();
    cluster.apply("{kind: Service, metadata: {name: web, namespace: shop}, spec: {type: ExternalName, externalName: a.b}}");
    insta::assert_snapshot!(cluster.settle(&exporter()), @r#"
    delete ResourceExport area/west-shop-web-endpoints
    delete ResourceExport area/west-shop-web-service
    patch status of ServiceExport shop/web
      status.conditions: [{"type":"Valid","status":"False","reason":"InvalidServiceType","message":"Service of ExternalName type is not supported","lastTransitionTime":"2027-01-15T08:00:04Z","observedGeneration":1},{"type":"Ready","status":"False","reason":"Failed","message":"the Service cannot be exported, see condition Valid","lastTransitionTime":"2027-01-15T08:00:04Z","observedGeneration":1}]
    create Event shop/web.18fae277821f2800
      involvedObject.apiVersion: "multicluster.x-k8s.io/v1beta1"
      involvedObject.kind: "ServiceExport"
      involvedObject.namespace: "shop"
      involvedObject.name: "web"
      involvedObject.uid: ""
      type: "Warning"
      reason: "InvalidServiceType"
      message: "Service of ExternalName type is not supported"
      firstTimestamp: "2027-01-15T08:00:04Z"
      lastTimestamp: "2027-01-15T08:00:04Z"
      count: 1
      source.component: "antrea-mc-controller"
      reportingComponent: "antrea-mc-controller"
      reportingInstance: ""
    "#);
    let mut alone = Cluster::of("{kind: ServiceExport, metadata: {name: web, namespace: shop}}");
    insta::assert_snapshot!(alone.settle(&exporter()), @r#"
    patch status of ServiceExport shop/web
      status.conditions: [{"type":"Valid","status":"False","reason":"NoService","message":"Service does not exist","lastTransitionTime":"2027-01-15T08:00:00Z"},{"type":"Ready","status":"False","reason":"Failed","message":"the Service cannot be exported, see condition Valid","lastTransitionTime":"2027-01-15T08:00:00Z"}]
    create Event shop/web.18fae27693b40000
      involvedObject.apiVersion: "multicluster.x-k8s.io/v1beta1"
      involvedObject.kind: "ServiceExport"
      involvedObject.namespace: "shop"
      involvedObject.name: "web"
      involvedObject.uid: ""
      type: "Warning"
      reason: "NoService"
      message: "Service does not exist"
      firstTimestamp: "2027-01-15T08:00:00Z"
      lastTimestamp: "2027-01-15T08:00:00Z"
      count: 1
      source.component: "antrea-mc-controller"
      reportingComponent: "antrea-mc-controller"
      reportingInstance: ""
    "#);
}

#[test]
fn a_service_without_an_address_that_crosses_clusters_is_withdrawn() {
    for addresses in ["", "clusterIP: 'fd00::7', clusterIPs: ['fd00::7'], ipFamilies: [IPv6], "] {
        let mut cluster = exported();
        cluster.apply(&format!(
            "{{kind: Service, metadata: {{name: web, namespace: shop}}, spec: {{type: ClusterIP, {addresses}ports: [{{port: 80}}]}}}}"
        ));
        let done = cluster.settle(&exporter());
        for part in [
            "delete ResourceExport area/west-shop-web-endpoints\n",
            "delete ResourceExport area/west-shop-web-service\n",
            r#""type":"Valid","status":"False","reason":"ServiceNoClusterIP""#,
        ] {
            assert!(done.contains(part), "{addresses}: {done}");
        }
    }
}

#[test]
fn an_export_is_not_ready_where_the_leader_refuses_the_service_or_its_endpoints_alone() {
    for refused in ["service", "endpoints"] {
        let mut cluster = exported();
        let key = Key::new(Kind::ResourceExport, "area", &format!("west-shop-web-{refused}"));
        let mut export = cluster.objects.get(&key).unwrap().clone();
        let answer = "conditions: [{type: Failure, status: 'True', message: refused}]";
        export["status"] = serde_saphyr::from_str(answer).unwrap();
        cluster.objects.insert(Kind::ResourceExport, export);
        let done = cluster.settle(&exporter());
        let ready = r#""type":"Ready","status":"False","reason":"Failed","message":"refused""#;
        assert!(done.contains(ready), "{refused}: {done}");
    }
}

#[test]
fn conflicts_and_refusals_of_the_leader_reach_the_user() {
    let mut cluster = exported();
    taken(
        &mut cluster,
        "{type: Succeeded, status: 'True'}, {type: Conflict, status: 'True', reason: PortConflict, message: port http differs}",
    );
    insta::assert_snapshot!(cluster.settle(&exporter()), @r#"
    patch status of ServiceExport shop/web
      status.conditions: [{"type":"Valid","status":"True","reason":"Valid","message":"The Service can be exported","lastTransitionTime":"2027-01-15T08:00:00Z","observedGeneration":1},{"type":"Ready","status":"True","reason":"Exported","message":"The Service is exported successfully","lastTransitionTime":"2027-01-15T08:00:02Z","observedGeneration":1},{"type":"Conflict","status":"True","reason":"PortConflict","message":"port http differs","lastTransitionTime":"2027-01-15T08:00:04Z","observedGeneration":1}]
    create Event shop/web.18fae277821f2800
      involvedObject.apiVersion: "multicluster.x-k8s.io/v1beta1"
      involvedObject.kind: "ServiceExport"
      involvedObject.namespace: "shop"
      involvedObject.name: "web"
      involvedObject.uid: ""
      type: "Warning"
      reason: "PortConflict"
      message: "port http differs"
      firstTimestamp: "2027-01-15T08:00:04Z"
      lastTimestamp: "2027-01-15T08:00:04Z"
      count: 1
      source.component: "antrea-mc-controller"
      reportingComponent: "antrea-mc-controller"
      reportingInstance: ""
    "#);
    taken(&mut cluster, "{type: Failure, status: 'True', reason: ConvergeFailure, message: refused}");
    insta::assert_snapshot!(cluster.settle(&exporter()), @r#"
    patch status of ServiceExport shop/web
      status.conditions: [{"type":"Valid","status":"True","reason":"Valid","message":"The Service can be exported","lastTransitionTime":"2027-01-15T08:00:00Z","observedGeneration":1},{"type":"Ready","status":"False","reason":"Failed","message":"refused","lastTransitionTime":"2027-01-15T08:00:06Z","observedGeneration":1}]
    create Event shop/web.18fae277f954bc00
      involvedObject.apiVersion: "multicluster.x-k8s.io/v1beta1"
      involvedObject.kind: "ServiceExport"
      involvedObject.namespace: "shop"
      involvedObject.name: "web"
      involvedObject.uid: ""
      type: "Warning"
      reason: "Failed"
      message: "refused"
      firstTimestamp: "2027-01-15T08:00:06Z"
      lastTimestamp: "2027-01-15T08:00:06Z"
      count: 1
      source.component: "antrea-mc-controller"
      reportingComponent: "antrea-mc-controller"
      reportingInstance: ""
    "#);
}

#[test]
fn without_a_cluster_set_nothing_is_exported_and_the_user_is_told() {
    let mut cluster = exported();
    let left = Exporter { membership: Membership::None, ..exporter() };
    insta::assert_snapshot!(cluster.settle(&left), @r#"
    patch status of ServiceExport shop/web
      status.conditions: [{"type":"Valid","status":"True","reason":"Valid","message":"The Service can be exported","lastTransitionTime":"2027-01-15T08:00:00Z","observedGeneration":1},{"type":"Ready","status":"False","reason":"Pending","message":"this cluster is in no ClusterSet yet","lastTransitionTime":"2027-01-15T08:00:04Z","observedGeneration":1}]
    "#);
}

#[test]
fn while_the_leader_is_away_the_user_is_told_and_nothing_is_withdrawn() {
    let mut cluster = exported();
    let why = Some("the leader does not answer".to_owned());
    let away = Exporter {
        membership: Membership::Joined {
            area: "area".to_owned(),
            naming: Naming::Upstream,
            unreachable: why,
        },
        ..exporter()
    };
    insta::assert_snapshot!(cluster.settle(&away), @r#"
    patch status of ServiceExport shop/web
      status.conditions: [{"type":"Valid","status":"True","reason":"Valid","message":"The Service can be exported","lastTransitionTime":"2027-01-15T08:00:00Z","observedGeneration":1},{"type":"Ready","status":"False","reason":"Pending","message":"the leader does not answer","lastTransitionTime":"2027-01-15T08:00:04Z","observedGeneration":1}]
    "#);
}

#[test]
fn two_services_never_share_an_export() {
    let other = EXPORT
        .replace("shop", "shop-web")
        .replace("name: web", "name: api")
        .replace("service-name: web", "service-name: api");
    let first =
        EXPORT.replace("name: web", "name: web-api").replace("service-name: web", "service-name: web-api");
    let mut cluster = Cluster::of(&first);
    cluster.settle(&exporter());
    cluster.apply(&other);
    insta::assert_snapshot!(cluster.settle_briefly(&exporter()), @"
    patch status of ServiceExport shop-web/api
    create Event shop-web/api.18fae2770ae99400
    problem: ResourceExport area/west-shop-web-api-service already exports another Service of this cluster; rename one of the two, or use a leader that tells them apart
    ");
    let ours = Membership::Joined { area: "area".to_owned(), naming: Naming::Unambiguous, unreachable: None };
    insta::assert_snapshot!(cluster.settle_briefly(&Exporter { membership: ours, ..exporter() }), @"
    create ResourceExport area/west-shop-web-api-service-aa6923a0767ee4e4
    create ResourceExport area/west-shop-web-api-endpoints-b15b21aa894e3044
    patch status of ServiceExport shop-web/api
    ");
}

pub(crate) const GATEWAY: &str = "{kind: Gateway, metadata: {name: n1, namespace: kube-system, creationTimestamp: '2026-11-21T09:00:00Z'}, gatewayIP: 172.18.0.5, internalIP: 172.18.0.5}";

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
    "#);
    cluster.apply(&GATEWAY.replace("n1", "n2").replace("09:00", "09:10").replace("0.5", "0.6"));
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
