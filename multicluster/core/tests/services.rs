//! Services that several clusters export: their ports.

use crate::area::{Area, service, upstream_service};

const HTTP: &str = "ports: [{name: http, port: 80, protocol: TCP}]";
const IP: &str = "type: ClusterSetIP";

fn check(exports: &[String]) -> String {
    let text = Area::of(exports).text();
    let mut reversed = exports.to_vec();
    reversed.reverse();
    assert_eq!(Area::of(&reversed).text(), text, "the order of exports shows");
    text
}

#[test]
fn an_import_is_there_while_one_cluster_exports() {
    let mut area = Area::of(&[service("east", 1, HTTP, IP), service("west", 2, HTTP, IP)]);
    insta::assert_snapshot!(area.text(), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 80}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      serviceImport.status.clusters: {cluster: west}
      east-shop-web-service taken
      west-shop-web-service taken
    ");
    area.delete("east-shop-web-service");
    insta::assert_snapshot!(area.text(), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 80}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: west}
      west-shop-web-service taken
    ");
    area.apply(
        &service("west", 2, HTTP, IP)
            .replace("metadata: {", "metadata: {deletionTimestamp: '2026-01-02T00:00:00Z', "),
    );
    assert_eq!(area.text(), "");
}

#[test]
fn ports_are_united_and_every_exporter_is_told() {
    let https = "ports: [{name: https, port: 443, protocol: TCP}, {name: http, port: 80, protocol: TCP}]";
    insta::assert_snapshot!(check(&[service("east", 1, HTTP, IP), service("west", 2, https, IP)]), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 80}
      serviceImport.spec.ports: {name: https, protocol: TCP, port: 443}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      serviceImport.status.clusters: {cluster: west}
      east-shop-web-service taken
      west-shop-web-service taken
      Conflict PortConflict
        port https 443/TCP is exported by west only
    ");
}

#[test]
fn of_two_ports_with_one_name_the_older_stays() {
    let other = "ports: [{name: http, port: 8080, protocol: TCP}]";
    insta::assert_snapshot!(check(&[service("east", 2, HTTP, IP), service("west", 1, other, IP)]), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 8080}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      serviceImport.status.clusters: {cluster: west}
      east-shop-web-service taken
      west-shop-web-service taken
      Conflict PortConflict
        port http 80/TCP of cluster east gets no connections: the older export of cluster west has port http 8080/TCP
    ");
}

#[test]
fn of_two_names_of_one_port_the_older_stays() {
    let other = "ports: [{name: web, port: 80, protocol: TCP}, {name: dns, port: 80, protocol: UDP}]";
    insta::assert_snapshot!(check(&[service("east", 1, HTTP, IP), service("west", 2, other, IP)]), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 80}
      serviceImport.spec.ports: {name: dns, protocol: UDP, port: 80}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      serviceImport.status.clusters: {cluster: west}
      east-shop-web-service taken
      west-shop-web-service taken
      Conflict PortConflict
        port web 80/TCP of cluster west gets no connections: the older export of cluster east has port http 80/TCP
        port dns 80/UDP is exported by west only
    ");
}

#[test]
fn a_port_without_name_stands_alone() {
    let other = "ports: [{port: 443}]";
    insta::assert_snapshot!(check(&[service("east", 1, HTTP, IP), service("west", 2, other, IP)]), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 80}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      serviceImport.status.clusters: {cluster: west}
      east-shop-web-service taken
      west-shop-web-service taken
      Conflict PortConflict
        port 443/TCP of cluster west gets no connections: the older export of cluster east has port http 80/TCP
    ");
    insta::assert_snapshot!(check(&[service("east", 2, HTTP, IP), service("west", 1, other, IP)]), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {protocol: TCP, port: 443}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      serviceImport.status.clusters: {cluster: west}
      east-shop-web-service taken
      west-shop-web-service taken
      Conflict PortConflict
        port http 80/TCP of cluster east gets no connections: the older export of cluster west has port 443/TCP
    ");
}

#[test]
fn a_port_is_the_same_whatever_is_spoken_on_it() {
    let h2c = "ports: [{name: http, port: 80, appProtocol: kubernetes.io/h2c}]";
    insta::assert_snapshot!(check(&[service("east", 1, HTTP, IP), service("west", 2, h2c, IP)]), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 80}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      serviceImport.status.clusters: {cluster: west}
      east-shop-web-service taken
      west-shop-web-service taken
      Conflict PortConflict
        appProtocol of port http 80/TCP (kubernetes.io/h2c) of cluster west is taken for none, as cluster east exports it
    ");
}

#[test]
fn of_equally_old_exports_the_first_by_cluster_counts() {
    let other = "ports: [{name: http, port: 8080}]";
    insta::assert_snapshot!(check(&[service("west", 1, other, IP), service("east", 1, HTTP, IP)]), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 80}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      serviceImport.status.clusters: {cluster: west}
      east-shop-web-service taken
      west-shop-web-service taken
      Conflict PortConflict
        port http 8080/TCP of cluster west gets no connections: the older export of cluster east has port http 80/TCP
    ");
}

#[test]
fn ports_that_make_no_sense_are_left_out_by_name() {
    let odd = "ports: [{name: a, port: 0}, {name: b, port: 70000}, {name: c, port: 1, protocol: GRE}, {name: d, port: 1}, {name: d, port: 2}]";
    insta::assert_snapshot!(check(&[service("east", 1, odd, IP)]), @r#"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: d, protocol: TCP, port: 1}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      east-shop-web-service taken
        without spec.service.serviceSpec.ports[0].port: 0 is no port; ports are 1 to 65535
        without spec.service.serviceSpec.ports[1].port: 70000 is no port; ports are 1 to 65535
        without spec.service.serviceSpec.ports[2].protocol: "GRE" is no protocol; it is one of: TCP, UDP, SCTP
        without spec.service.serviceSpec.ports[4]: port d 2/TCP is there twice, or lacks a name
    "#);
}

#[test]
fn upstream_members_with_the_same_ports_are_all_there() {
    let http = "[{name: http, port: 80, protocol: TCP, targetPort: 8080}]";
    let same = "[{name: http, port: 80, protocol: TCP, targetPort: web}]";
    insta::assert_snapshot!(check(&[upstream_service("east", 1, http), upstream_service("west", 2, same)]), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 80}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      serviceImport.status.clusters: {cluster: west}
      east-shop-web-service taken
      west-shop-web-service taken
    ");
}

#[test]
fn an_upstream_member_with_other_ports_is_left_out() {
    let http = "[{name: http, port: 80, protocol: TCP}]";
    let other = "[{name: http, port: 81, protocol: TCP}]";
    insta::assert_snapshot!(check(&[upstream_service("east", 1, http), upstream_service("west", 2, other)]), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 80}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      east-shop-web-service taken
      west-shop-web-service refused: the export of cluster west is left out: its ports differ from those of cluster east, whose export is older
      Conflict PortConflict
        the export of cluster west is left out: its ports differ from those of cluster east, whose export is older
    ");
}

#[test]
fn members_of_ours_unite_their_ports_with_those_of_an_upstream_one() {
    let http = "[{name: http, port: 80, protocol: TCP}]";
    let https = "ports: [{name: https, port: 443}], sessionAffinity: ClientIP";
    insta::assert_snapshot!(check(&[upstream_service("east", 1, http), service("west", 2, https, IP)]), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 80}
      serviceImport.spec.ports: {name: https, protocol: TCP, port: 443}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: ClientIP
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      serviceImport.status.clusters: {cluster: west}
      east-shop-web-service taken
      west-shop-web-service taken
      Conflict PortConflict
        port http 80/TCP is exported by east only
        port https 443/TCP is exported by west only
    ");
}

#[test]
fn a_useless_export_is_refused_and_hides_no_other() {
    let empty = service("west", 1, HTTP, IP).replace("  service:", "  other:");
    insta::assert_snapshot!(check(&[service("east", 2, HTTP, IP), empty]), @"
    shop-web-service ServiceImport shop/web
      serviceImport.spec.ports: {name: http, protocol: TCP, port: 80}
      serviceImport.spec.type: ClusterSetIP
      serviceImport.spec.sessionAffinity: None
      serviceImport.spec.internalTrafficPolicy: Cluster
      serviceImport.status.clusters: {cluster: east}
      east-shop-web-service taken
      west-shop-web-service refused: spec.service: is missing; exports of this kind need it
    ");
    let unnamed = service("west", 1, HTTP, IP).replace("name: web", "name: WEB");
    insta::assert_snapshot!(check(&[unnamed]), @r#"west-shop-web-service: spec.name: "WEB" is not a valid name: lower-case letters, digits and '-', 63 bytes at most, beginning and ending with a letter or digit"#);
    let unknown = service("west", 1, HTTP, IP).replace("kind: Service", "kind: Pod");
    insta::assert_snapshot!(check(&[unknown]), @r#"west-shop-web-service: spec.kind: "Pod" is not exported; kinds are Service, Endpoints, ClusterInfo, AntreaClusterNetworkPolicy, LabelIdentity, ExternalEntity"#);
}

#[test]
fn no_export_is_older_than_the_membership_of_its_cluster() {
    let mut area =
        Area::of(&[service("east", 5, HTTP, IP), service("west", 1, &HTTP.replace("80", "81"), IP)]);
    let port = |area: &Area| {
        let text = area.text();
        ["port: 80}", "port: 81}"]
            .into_iter()
            .find(|port| text.contains(&format!("TCP, {port}")))
            .unwrap()
            .to_owned()
    };
    assert_eq!(port(&area), "port: 81}");
    area.joined.insert("west".parse().unwrap(), "2026-01-01T00:06:00Z".parse().unwrap());
    assert_eq!(port(&area), "port: 80}");
    area.joined.insert("east".parse().unwrap(), "2026-01-01T00:07:00Z".parse().unwrap());
    assert_eq!(port(&area), "port: 81}");
}

#[test]
fn an_export_gets_younger_by_what_it_says_and_never_older() {
    let other = |minute| service("west", minute, &HTTP.replace("80", "81"), IP);
    let mut area = Area::of(&[service("east", 5, HTTP, IP), other(9)]);
    let first = area.text();
    area.apply(&other(1));
    assert_eq!(area.text(), first);
    area.apply(&service("east", 30, HTTP, IP));
    assert_ne!(area.text(), first, "that of west counts now");
    area.apply(&service("east", 5, HTTP, IP));
    assert_eq!(area.text(), first, "it is as old as it was");
    area.delete("west-shop-web-service");
    area.apply(&other(1));
    assert_ne!(area.text(), first, "another export may be older");
}
