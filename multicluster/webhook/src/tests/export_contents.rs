//! What stands in ResourceExports that members write.

use antrea_mc_core::ids::NamespacedName;
use antrea_mc_core::names::{Names, Resource};

use super::exports::{INFO, LABELS, SERVICE, check, update, with};

#[test]
fn the_payload_of_the_kind_is_there_and_valid() {
    check(
        "mc/east-token",
        "create",
        &with(SERVICE, "service: {serviceSpec: {ports: [{name: http, port: 80, protocol: TCP}]}}", "raw: {}"),
        "422: spec.service: is missing: the kind is Service; spec.raw: does not belong to the kind Service",
    );
    check(
        "mc/east-token",
        "create",
        &with(SERVICE, "port: 80", "port: 80000"),
        "422: spec.service.serviceSpec.ports[0].port: 80000 is not from 1 to 65535",
    );
    check(
        "mc/east-token",
        "create",
        &with(INFO, "clusterInfo: {clusterID: east", "clusterInfo: {clusterID: west"),
        "422: spec.clusterInfo.clusterID: must be \"east\", as spec.clusterID",
    );
    check(
        "mc/east-token",
        "update",
        &update(SERVICE, "name: web, service:", "name: web2, service:"),
        "422: spec.name: cannot be changed",
    );
}

#[test]
fn what_no_service_of_an_importer_can_have_is_refused_unless_it_was_there_before() {
    let spec = "serviceSpec: {";
    for (field, problem) in [
        (
            "trafficDistribution: PreferMine, ",
            "trafficDistribution: \"PreferMine\" is none of PreferClose, PreferSameZone, PreferSameNode",
        ),
        (
            "sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}, ",
            "sessionAffinityConfig.clientIP.timeoutSeconds: 0 is not from 1 to 86400",
        ),
    ] {
        let odd = with(SERVICE, spec, &format!("{spec}{field}"));
        let refused = format!("422: spec.service.serviceSpec.{problem}");
        check("mc/east-token", "create", &odd, &refused);
        check("mc/east-token", "update", &format!("{SERVICE}---{odd}"), &refused);
        check("mc/east-token", "update", &update(&odd, "port: 80", "port: 81"), "allowed");
    }
    check(
        "mc/east-token",
        "create",
        &with(SERVICE, "port: 80", "port: 80, appProtocol: '*'"),
        "422: spec.service.serviceSpec.ports[0].appProtocol: \"*\" is not a qualified name, as app or example.org/app",
    );
}

#[test]
fn names_derive_from_the_cluster_and_what_it_exports() {
    check(
        "mc/east-token",
        "create",
        &with(SERVICE, "name: east-shop-web-service", "name: west-shop-web-service"),
        "403: the name of this export of cluster east is \"east-shop-web-service\", not \"west-shop-web-service\"",
    );
    check(
        "mc/east-token",
        "create",
        &with(LABELS, "name: east-", "name: east-1"),
        "403: the name of this export of cluster east is \"east-1834cf0966b64b41\", not \"east-11834cf0966b64b41\"",
    );
    let dashed = SERVICE.replace("shop", "shop-1");
    check("mc/east-token", "create", &dashed, "allowed");
    check(
        "mc/east-token",
        "create",
        &with(&dashed, "name: east-", "name: x-"),
        "403: the name of this export of cluster east is \"east-shop-1-web-service\", not \"x-shop-1-web-service\"",
    );
    let resource = Resource::Service(NamespacedName::new("shop-1", "web").unwrap());
    let hashed = Names::of_export(&"east".parse().unwrap(), &resource).hashed;
    let of_two_that_share_a_name = with(&dashed, "name: east-shop-1-web-service", &format!("name: {hashed}"));
    check("mc/east-token", "create", &of_two_that_share_a_name, "allowed");
}

#[test]
fn labels_say_what_the_spec_says() {
    check(
        "mc/east-token",
        "create",
        &with(SERVICE, "sourceName: web", "sourceName: api"),
        "403: metadata.labels[sourceName]: must be \"web\", as spec says",
    );
    check(
        "mc/east-token",
        "create",
        &with(INFO, "sourceClusterID: east", "sourceClusterID: west"),
        "403: metadata.labels[sourceClusterID]: must be \"east\", as spec says",
    );
}

#[test]
fn a_member_keeps_its_exports_by_no_finalizer_of_its_own() {
    let held = "[resourceexport.antrea.io/finalizer]";
    let both = with(SERVICE, held, "[resourceexport.antrea.io/finalizer, example.org/held]");
    let refused =
        "403: metadata.finalizers: \"example.org/held\" would keep the export of a member that leaves";
    check("mc/east-token", "create", &both, refused);
    check("mc/east-token", "update", &format!("{SERVICE}---{both}"), refused);
    check("mc/east-token", "update", &format!("{both}---{both}"), "allowed");
    check("mc/east-token", "update", &format!("{both}---{SERVICE}"), "allowed");
    check("admin", "update", &format!("{SERVICE}---{both}"), "allowed");
}

/// The UIDs of others' announces are no secret.
#[test]
fn a_member_keeps_nobody_by_an_owner_of_its_exports() {
    let owner = "{apiVersion: multicluster.crd.antrea.io/v1alpha1, kind: MemberClusterAnnounce, name: member-announce-from-west, \
                 uid: west-uid, blockOwnerDeletion: true}";
    let owned = with(SERVICE, "namespace: mc", &format!("namespace: mc\n  ownerReferences: [{owner}]"));
    let refused = "403: metadata.ownerReferences: members write no owner references, and MemberClusterAnnounce \
                   \"member-announce-from-west\" could not be deleted before this object";
    check("mc/east-token", "create", &owned, refused);
    check("mc/east-token", "update", &format!("{SERVICE}---{owned}"), refused);
    let does_not_block = owned.replace("blockOwnerDeletion: true", "blockOwnerDeletion: false");
    check("mc/east-token", "update", &format!("{does_not_block}---{owned}"), refused);
    check("mc/east-token", "update", &format!("{owned}---{owned}"), "allowed");
    check("mc/east-token", "update", &format!("{owned}---{SERVICE}"), "allowed");
    check("mc/east-token", "delete", &owned, "allowed");
    check("admin", "update", &format!("{SERVICE}---{owned}"), "allowed");
}

#[test]
fn the_leader_sees_exports_go() {
    let missing =
        "403: metadata.finalizers: resourceexport.antrea.io/finalizer is missing; only the leader removes it";
    let held = "[resourceexport.antrea.io/finalizer]";
    check("mc/east-token", "create", &with(SERVICE, held, "[]"), missing);
    check("mc/east-token", "update", &update(SERVICE, held, "[other]"), missing);
    check(
        "mc/east-token",
        "update",
        &update(SERVICE, held, "[resourceexport.finalizers.antrea.io]"),
        "allowed",
    );
    check("mc/east-token", "update", &update(&with(SERVICE, held, "[]"), "port: 80", "port: 81"), "allowed");
}
