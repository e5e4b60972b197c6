//! What users are told of their exports.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_kit::kube_client::Trouble;
use antrea_kit::watch::WatchEvent;
use antrea_mc_core::service_export::PodsAtHome;
use antrea_mc_member::area::Area;
use antrea_mc_member::export::{ExportedPods, Exporter, Membership, Networks, Subject};
use antrea_mc_member::kind::Kind;
use antrea_mc_member::leader::Class;
use antrea_mc_member::objects::Key;

use crate::exports::{EXPORT, SUCCEEDED, exported, exporter, taken};
use crate::objects::{Cluster, read};

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
fn of_long_messages_of_a_leader_the_beginning_reaches_the_user() {
    let (mut cluster, long) = (exported(), "x".repeat(1 << 20));
    let failure = format!("{{type: Failure, status: 'True', message: {long}}}");
    let conflict = format!("{{type: Conflict, status: 'True', reason: a b, message: {long}}}");
    taken(&mut cluster, &format!("{failure}, {conflict}"));
    let told = cluster.settle(&exporter());
    assert!(told.len() < 20_000, "{} bytes are written", told.len());
    assert!(told.contains(r#""type":"Ready","status":"False","reason":"Failed","message":"xxx"#), "{told}");
    assert!(told.contains(r#""status":"True","reason":"Unspecified","message":"xxx"#), "{told}");
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
    cluster.apply(&EXPORT.replace("10.96.0.7", "10.96.0.8"));
    let changed = cluster.plan(&refusing("no network of west"));
    assert!(changed.contains(ready[0]), "what it took before is not what is exported: {changed}");
    insta::assert_snapshot!(cluster.settle_briefly(&exporter()), @"
    patch ResourceExport area/west-shop-web-endpoints
    patch status of ServiceExport shop/web
    ");
    assert_eq!(cluster.settle(&refusing("no network of west")), "", "the leader has all of it");
}

/// Whether users are told what the leader refused before `becomes`, and have an export now.
fn refused_then(becomes: impl FnOnce(&mut Cluster, &mut Exporter)) -> bool {
    let (mut cluster, mut exporter) = (Cluster::of(EXPORT), exporter());
    let subject = Subject::Service("shop".to_owned(), "web".to_owned());
    exporter.answered(&cluster.objects, &subject, Some("no network of west".to_owned()));
    assert!(cluster.plan(&exporter).contains("no network of west"));
    becomes(&mut cluster, &mut exporter);
    cluster.apply(EXPORT);
    cluster.plan(&exporter).contains("no network of west")
}

/// The ServiceExport `web` has these metadata now.
fn replace(cluster: &mut Cluster, exporter: &mut Exporter, metadata: &str) {
    let yaml = EXPORT.replace("name: web, namespace: shop, generation: 1", metadata);
    let export = read(&yaml).remove(0);
    let changes = cluster.objects.learn(Kind::ServiceExport, WatchEvent::Applied(export));
    assert_eq!(changes.len(), 1);
    changes.iter().for_each(|change| exporter.learned(&cluster.objects, change, Duration::ZERO));
}

#[test]
fn a_refusal_goes_with_its_export() {
    let edited = refused_then(|cluster, exporter| {
        replace(cluster, exporter, "name: web, namespace: shop, generation: 2");
    });
    assert!(edited, "it is the same export still");
    let deleted = refused_then(|cluster, exporter| {
        let change = cluster.objects.remove(&Key::new(Kind::ServiceExport, "shop", "web")).pop().unwrap();
        exporter.learned(&cluster.objects, &change, Duration::ZERO);
    });
    assert!(!deleted);
    let made_anew = refused_then(|cluster, exporter| {
        replace(cluster, exporter, "name: web, namespace: shop, uid: second, generation: 1");
    });
    assert!(!made_anew, "it was deleted and made between two looks");
}

#[test]
fn a_refusal_of_what_is_not_exported_any_more_is_not_kept() {
    let mut exporter = exporter();
    let subject = Subject::Service("shop".to_owned(), "web".to_owned());
    exporter.answered(&Cluster::of("").objects, &subject, Some("no network of west".to_owned()));
    assert_eq!(exporter.refusals, BTreeMap::new());
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

fn away() -> Exporter {
    let membership =
        Membership::Joined { area: "area".to_owned(), unreachable: Some(Class::Trouble(Trouble::Silent)) };
    Exporter { membership, ..exporter() }
}

const CONFLICT: &str = "{type: Conflict, status: 'True', reason: PortConflict, message: port http differs}";

#[test]
fn what_the_leader_has_said_counts_while_it_is_away() {
    let refused = "{type: Failure, status: 'True', reason: ConvergeFailure, message: refused}";
    for answer in [format!("{SUCCEEDED}, {CONFLICT}").as_str(), refused] {
        let mut cluster = exported();
        taken(&mut cluster, answer);
        assert!(cluster.settle(&exporter()).contains("create Event"), "{answer}");
        assert_eq!(cluster.settle(&away()), "", "{answer}");
        assert_eq!(cluster.settle(&exporter()), "", "it is back: {answer}");
    }
}

#[test]
fn what_the_leader_has_said_counts_where_the_member_starts_while_it_is_away() {
    let mut cluster = exported();
    taken(&mut cluster, &format!("{SUCCEEDED}, {CONFLICT}"));
    cluster.settle(&exporter());
    cluster.objects.forget(Kind::ResourceExport);
    assert_eq!(cluster.settle(&away()), "");
}

#[test]
fn what_waits_for_the_leader_says_so() {
    let pending = r#"{"type":"Ready","status":"False","reason":"Pending","message":"the leader's API server did not answer in time""#;
    let told = Cluster::of(EXPORT).settle(&away());
    assert!(told.contains(pending), "{told}");
    let mut cluster = exported();
    taken(&mut cluster, "{type: Failure, status: 'True', message: refused}");
    cluster.settle(&exporter());
    cluster.apply(&edited(&cluster));
    let told = cluster.settle(&away());
    assert!(told.contains(pending), "what was refused is not what is to be exported now: {told}");
}

/// The ServiceExport of a cluster, with the next generation.
fn edited(cluster: &Cluster) -> String {
    let key = Key::new(Kind::ServiceExport, "shop", "web");
    let mut export = cluster.objects.get(&key).unwrap().clone();
    export["metadata"]["generation"] = 2.into();
    export.to_string()
}

#[test]
fn a_service_that_cannot_be_exported_any_more_says_so_while_the_leader_is_away() {
    let mut cluster = exported();
    taken(&mut cluster, &format!("{SUCCEEDED}, {CONFLICT}"));
    cluster.settle(&exporter());
    cluster.delete(Kind::Service, "shop", "web");
    let told = cluster.settle(&away());
    assert!(told.contains(r#""type":"Valid","status":"False","reason":"NoService""#), "{told}");
    assert!(!told.contains("PortConflict") && !told.contains("delete"), "{told}");
}

/// `EXPORT` of a headless Service.
fn headless() -> String {
    EXPORT.replace("clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7]", "clusterIP: None, clusterIPs: [None]")
}

/// What is said of an export that the leader has taken, where no Pods are exported.
fn told_without_pods(objects: &str, at_home: PodsAtHome) -> String {
    let networks = Networks { pod_cidrs: Vec::new(), ..exporter().networks };
    let pods = ExportedPods { networks: Vec::new(), at_home: Some(at_home) };
    let exporter = Exporter { networks, pods, ..exporter() };
    let mut cluster = Cluster::of(objects);
    cluster.settle(&exporter);
    taken(&mut cluster, SUCCEEDED);
    cluster.settle(&exporter)
}

#[test]
fn an_export_that_others_do_not_reach_says_so_in_one_sentence() {
    let told = told_without_pods(&headless(), PodsAtHome::NotNamed);
    let ready = r#""type":"Ready","status":"True","reason":"Exported","message":"The Service is exported successfully; its Pods are reached in this cluster alone, as podCIDRs names no network""#;
    assert!(told.contains(ready) && !told.contains("create Event"), "{told}");
}

#[test]
fn a_refused_pod_network_refuses_headless_and_pod_exports_alone() {
    let refused = || PodsAtHome::Refused("10.10.0.0/16 is of cluster east".to_owned());
    let told = told_without_pods(&headless(), refused());
    let failed =
        r#""type":"Ready","status":"False","reason":"Failed","message":"10.10.0.0/16 is of cluster east""#;
    assert!(told.contains(failed) && told.contains("create Event"), "{told}");
    let told = told_without_pods(EXPORT, refused());
    let ready = r#""type":"Ready","status":"True","reason":"Exported","message":"The Service is exported successfully""#;
    assert!(told.contains(ready), "{told}");
}

/// The leader's webhooks may hear later of networks than the leader does.
#[test]
fn pods_that_are_refused_once_are_tried_again_before_anybody_is_told() {
    let (mut cluster, mut exporter) = (Cluster::of(&headless()), exporter());
    let subject = Subject::Service("shop".to_owned(), "web".to_owned());
    let refusal = || Some("10.10.1.5 is in no network".to_owned());
    exporter.answered(&cluster.objects, &subject, refusal());
    assert!(!cluster.plan(&exporter).contains("is in no network"));
    exporter.answered(&cluster.objects, &subject, refusal());
    assert!(cluster.plan(&exporter).contains("is in no network"));
    exporter.answered(&cluster.objects, &subject, None);
    exporter.answered(&cluster.objects, &subject, refusal());
    assert!(!cluster.plan(&exporter).contains("is in no network"), "it was taken meanwhile");
}
