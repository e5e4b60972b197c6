//! Services that several clusters export: everything but their ports.

use crate::area::{Area, service, upstream_service};

fn conflict(older: (&str, &str), younger: (&str, &str)) -> String {
    let exports = [service("west", 2, younger.0, younger.1), service("east", 1, older.0, older.1)];
    let text = Area::of(&exports).text();
    text.lines().skip(1).filter(|line| !line.contains("taken")).map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_type_is_that_of_the_oldest_export() {
    insta::assert_snapshot!(conflict(("", "type: Headless"), ("", "type: ClusterSetIP")), @"
    serviceImport.spec.type: Headless
    serviceImport.spec.sessionAffinity: None
    serviceImport.spec.internalTrafficPolicy: Cluster
    serviceImport.status.clusters: {cluster: east}
    serviceImport.status.clusters: {cluster: west}
    Conflict TypeConflict
    type is Headless, as cluster east exports it, not ClusterSetIP of cluster west
    ");
}

#[test]
fn so_is_session_affinity() {
    let ten = "sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 10}}";
    let twenty = "sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 20}}";
    insta::assert_snapshot!(conflict((ten, "type: ClusterSetIP"), (twenty, "type: ClusterSetIP")), @"
    serviceImport.spec.type: ClusterSetIP
    serviceImport.spec.sessionAffinity: ClientIP
    serviceImport.spec.sessionAffinityConfig.clientIP.timeoutSeconds: 10
    serviceImport.spec.internalTrafficPolicy: Cluster
    serviceImport.status.clusters: {cluster: east}
    serviceImport.status.clusters: {cluster: west}
    Conflict SessionAffinityConfigConflict
    sessionAffinityConfig is 10 s, as cluster east exports it, not 20 s of cluster west
    ");
    insta::assert_snapshot!(conflict(("", "type: ClusterSetIP"), (twenty, "type: ClusterSetIP")), @"
    serviceImport.spec.type: ClusterSetIP
    serviceImport.spec.sessionAffinity: None
    serviceImport.spec.internalTrafficPolicy: Cluster
    serviceImport.status.clusters: {cluster: east}
    serviceImport.status.clusters: {cluster: west}
    Conflict SessionAffinityConflict,SessionAffinityConfigConflict
    sessionAffinity is None, as cluster east exports it, not ClientIP of cluster west
    sessionAffinityConfig is the default, as cluster east exports it, not 20 s of cluster west
    ");
}

#[test]
fn so_are_traffic_policy_distribution_and_families() {
    let local = "internalTrafficPolicy: Local, trafficDistribution: PreferClose, ipFamilies: [IPv4, IPv6]";
    insta::assert_snapshot!(conflict((local, "type: ClusterSetIP"), ("ipFamilies: [IPv4]", "type: ClusterSetIP")), @"
    serviceImport.spec.type: ClusterSetIP
    serviceImport.spec.sessionAffinity: None
    serviceImport.spec.ipFamilies: IPv4
    serviceImport.spec.ipFamilies: IPv6
    serviceImport.spec.internalTrafficPolicy: Local
    serviceImport.spec.trafficDistribution: PreferClose
    serviceImport.status.clusters: {cluster: east}
    serviceImport.status.clusters: {cluster: west}
    Conflict InternalTrafficPolicyConflict,TrafficDistributionConflict,IPFamilyConflict
    internalTrafficPolicy is Local, as cluster east exports it, not Cluster of cluster west
    trafficDistribution is PreferClose, as cluster east exports it, not none of cluster west
    ipFamilies is IPv4+IPv6, as cluster east exports it, not IPv4 of cluster west
    ");
}

#[test]
fn so_are_exported_labels_and_annotations() {
    insta::assert_snapshot!(conflict(
        ("", "type: ClusterSetIP, labels: {team: a}, annotations: {note: one}"),
        ("", "type: ClusterSetIP, labels: {team: b, tier: web}")
    ), @r#"
    serviceImport.metadata.labels.team: a
    serviceImport.metadata.annotations.note: one
    serviceImport.spec.type: ClusterSetIP
    serviceImport.spec.sessionAffinity: None
    serviceImport.spec.internalTrafficPolicy: Cluster
    serviceImport.status.clusters: {cluster: east}
    serviceImport.status.clusters: {cluster: west}
    Conflict LabelsConflict,AnnotationsConflict
    exportedLabels is {team="a"}, as cluster east exports it, not {team="b", tier="web"} of cluster west
    exportedAnnotations is {note="one"}, as cluster east exports it, not {} of cluster west
    "#);
}

#[test]
fn an_upstream_member_says_nothing_that_could_conflict() {
    let local = "ports: [{port: 80}], internalTrafficPolicy: Local";
    let exports =
        [upstream_service("east", 1, "[{port: 80}]"), service("west", 2, local, "type: ClusterSetIP")];
    insta::assert_snapshot!(Area::of(&exports).text(), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {protocol: TCP, port: 80}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Local
      serviceImport.status.clusters: {cluster: east}
      serviceImport.status.clusters: {cluster: west}
      east-shop-web-service taken
      west-shop-web-service taken
    ");
}

#[test]
fn what_no_service_can_have_is_left_out_by_name() {
    let odd = "ports: [{name: http, port: 80, appProtocol: no protocol}], trafficDistribution: Whatever, \
               sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 86401}}";
    let area = Area::of(&[service("east", 1, odd, "type: ClusterSetIP")]);
    insta::assert_snapshot!(area.text(), @r#"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 80}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: ClientIP
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      east-shop-web-service taken
        without spec.service.serviceSpec.ports[0].appProtocol: "no protocol" is not a qualified name, as app or example.org/app
        without spec.service.serviceSpec.trafficDistribution: "Whatever" is none of PreferClose, PreferSameZone, PreferSameNode
        without spec.service.serviceSpec.sessionAffinityConfig.clientIP.timeoutSeconds: 86401 is not from 1 to 86400
    "#);
}

#[test]
fn a_service_without_affinity_has_no_time_of_it() {
    let none =
        "ports: [{port: 80}], sessionAffinity: None, sessionAffinityConfig: {clientIP: {timeoutSeconds: 10}}";
    let text = Area::of(&[service("east", 1, none, "type: ClusterSetIP")]).text();
    assert!(text.contains("sessionAffinity: None") && !text.contains("timeoutSeconds"), "{text}");
}

#[test]
fn of_too_many_annotations_none_are_imported() {
    let origin = |bytes| format!("type: ClusterSetIP, annotations: {{key: {}}}", "x".repeat(bytes));
    let text = |bytes| Area::of(&[service("east", 1, "ports: [{port: 80}]", &origin(bytes))]).text();
    assert!(text(60_000).contains("serviceImport.metadata.annotations.key: xxx"));
    let without = text(70_000);
    assert!(!without.contains("xxx"), "{without}");
    let named = "without spec.service.origin.annotations: have more than 65536 bytes";
    assert!(without.contains(named), "{without}");
}

#[test]
fn of_more_than_64_labels_or_annotations_none_are_imported() {
    for field in ["labels", "annotations"] {
        let text = |number: usize| {
            let all: Vec<String> = (0..number).map(|key| format!("k{key}: v")).collect();
            let origin = format!("type: ClusterSetIP, {field}: {{{}}}", all.join(", "));
            Area::of(&[service("east", 1, "ports: [{port: 80}]", &origin)]).text()
        };
        assert!(text(64).contains(&format!("serviceImport.metadata.{field}.k63: v")));
        let without = text(65);
        assert!(without.contains("east-shop-web-service taken") && !without.contains("k63"), "{without}");
        let named = format!(
            "without spec.service.origin.{field}: there are 65; at most 64 are allowed, and none counts"
        );
        assert!(without.contains(&named), "{without}");
    }
}
