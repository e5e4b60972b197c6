//! How much a member may export.

use antrea_kit::watch::WatchEvent;
use antrea_mc_core::limits::{Limits, Size};

use super::exports::{ENDPOINTS, INFO, LABELS, SERVICE, check_in, with};
use super::{exported, known_with, objects};
use crate::{Event, Known};

/// Another export of the same kind.
fn other(yaml: &str, name: &str) -> String {
    yaml.replace("shop-web", &format!("shop-{name}"))
        .replace("name: web", &format!("name: {name}"))
        .replace("sourceName: web", &format!("sourceName: {name}"))
}

/// A Common Area in which `east` exports these.
fn known(limits: Limits, exports: &[&str]) -> Known {
    let known = known_with(limits);
    let exports = exports.iter().map(|export| exported(&objects(export)[0])).collect();
    known.learn("mc", Event::Export(WatchEvent::Resynced(exports)));
    known
}

fn bytes(yaml: &str) -> usize {
    Size::of(&objects(yaml).remove(0)).bytes
}

const MANY: Limits = Limits {
    exports: 1000,
    label_identities: 1000,
    bytes: 1_000_000,
    object_bytes: 1_000_000,
    endpoint_ports: 1_000_000,
};

#[test]
fn a_member_that_exports_as_much_as_it_may_exports_no_more() {
    let limits = Limits { exports: 2, label_identities: 1, ..MANY };
    let known = known(limits, &[SERVICE, ENDPOINTS, LABELS]);
    let more = other(SERVICE, "api");
    let refused = "403: cluster east exports 2 of 2 Services, endpoints and ClusterInfos: an admin of the leader may raise \
                   leader.memberLimits.exports";
    check_in(&known, "mc/east-token", "create", &more, refused);
    let labels = LABELS.replace("app=web", "app=api");
    let labels =
        labels.replace("1834cf0966b64b41", &name_of("ns:kubernetes.io/metadata.name=shop&pod:app=api"));
    let refused = "403: cluster east exports 1 of 1 sets of labels: an admin of the leader may raise \
                   leader.memberLimits.labelIdentities";
    check_in(&known, "mc/east-token", "create", &labels, refused);
    check_in(&known, "mc/east-token", "update", &format!("{SERVICE}---{SERVICE}"), "allowed");
    check_in(&known, "mc/east-token", "delete", SERVICE, "allowed");
    check_in(&known, "mc/east-token", "create", INFO, "allowed");
    check_in(&known, "mc/west-token", "create", &more.replace("east", "west"), "allowed");
    check_in(&known, "admin", "create", &more, "allowed");
    let gone = exported(&objects(SERVICE)[0]);
    known.learn("mc", Event::Export(WatchEvent::Deleted(gone)));
    check_in(&known, "mc/east-token", "create", &more, "allowed");
}

fn name_of(label: &str) -> String {
    antrea_shared_api::labels::identity_name(label)
}

#[test]
fn what_a_member_exports_is_bounded_in_size_and_may_shrink_whatever_it_has() {
    let large = with(SERVICE, "name: http, port: 80", "name: a-longer-name, port: 80");
    let (small_bytes, large_bytes) = (bytes(SERVICE), bytes(&large));
    let all = bytes(ENDPOINTS) + large_bytes;
    let grows = format!("{SERVICE}---{large}");
    let shrinks = format!("{large}---{SERVICE}");
    let enough = known(Limits { bytes: all, object_bytes: large_bytes, ..MANY }, &[SERVICE, ENDPOINTS]);
    check_in(&enough, "mc/east-token", "update", &grows, "allowed");
    let little = known(Limits { bytes: all - 1, ..MANY }, &[SERVICE, ENDPOINTS]);
    let refused = format!(
        "403: with this export cluster east would have {all} bytes; at most {} are allowed: an admin of the leader may raise \
         leader.memberLimits.bytes",
        all - 1
    );
    check_in(&little, "mc/east-token", "update", &grows, &refused);
    let least = known(Limits { bytes: 1, object_bytes: small_bytes, ..MANY }, &[large.as_str(), ENDPOINTS]);
    check_in(&least, "mc/east-token", "update", &shrinks, "allowed");
    let refused = format!(
        "403: the ResourceExport has {large_bytes} of {small_bytes} bytes: an admin of the leader may raise \
         leader.memberLimits.objectBytes"
    );
    check_in(&least, "mc/east-token", "update", &grows, &refused);
}

#[test]
fn annotations_and_managed_fields_count() {
    let annotated = with(SERVICE, "namespace: mc", "namespace: mc\n  annotations: {a: much}");
    assert!(bytes(&annotated) > bytes(SERVICE));
    let entry = "{manager: much, operation: Apply, fieldsType: FieldsV1, fieldsV1: {f:spec: {}}}";
    let managed = with(SERVICE, "namespace: mc", &format!("namespace: mc\n  managedFields: [{entry}]"));
    let limits = Limits { bytes: bytes(SERVICE) + bytes(ENDPOINTS), ..MANY };
    let endpoints = |known: &Known, expected: &str| {
        check_in(known, "mc/east-token", "create", ENDPOINTS, expected);
    };
    endpoints(&known(limits, &[SERVICE]), "allowed");
    let (used, limit) = (bytes(&managed) + bytes(ENDPOINTS), limits.bytes);
    assert!(used > limit + 50);
    let refused = format!(
        "403: with this export cluster east would have {used} bytes; at most {limit} are allowed: an admin of the leader may raise \
         leader.memberLimits.bytes"
    );
    endpoints(&known(limits, &[managed.as_str()]), &refused);
}

#[test]
fn an_export_has_100_ports_in_a_list_at_most_and_no_more_than_it_had() {
    let ports = |number: usize| {
        let ports = (1..=number).map(|port| format!("{{name: p{port}, port: {port}}}"));
        ports.collect::<Vec<_>>().join(", ")
    };
    let service = |number| with(SERVICE, "{name: http, port: 80, protocol: TCP}", &ports(number));
    let subset = |number| {
        let ports = format!("[{{ip: 10.1.0.7}}], ports: [{}]", ports(number));
        with(ENDPOINTS, "[{ip: 10.1.0.7}]", &ports)
    };
    let slice = |number| {
        subset(number)
            .replace("subsets: [{addresses: [{ip: 10.1.0.7}]", "endpointSlices: [{addressType: IPv4")
    };
    let refused =
        |number| format!("403: the ResourceExport has {number} ports in one list; at most 100 are allowed");
    let known = known(Limits::default(), &[]);
    let check =
        |verb: &str, yaml: &str, expected: &str| check_in(&known, "mc/east-token", verb, yaml, expected);
    for export in [&service as &dyn Fn(usize) -> String, &subset, &slice] {
        check("create", &export(100), "allowed");
        check("create", &export(101), &refused(101));
        check("update", &format!("{}---{}", export(1), export(101)), &refused(101));
        check("update", &format!("{}---{}", export(102), export(102)), "allowed");
        check("update", &format!("{}---{}", export(102), export(101)), "allowed");
        check("update", &format!("{}---{}", export(102), export(103)), &refused(103));
    }
}

/// What an export is, with so many of something, and is no more than it was.
#[track_caller]
fn check_most(most: usize, export: impl Fn(usize) -> String, what: &str) {
    let known = known(Limits::default(), &[]);
    let refused =
        |number: usize| format!("403: the ResourceExport has {number} {what}; at most {most} are allowed");
    let check =
        |verb: &str, yaml: &str, expected: &str| check_in(&known, "mc/east-token", verb, yaml, expected);
    let update = |old: usize, new: usize| format!("{}---{}", export(old), export(new));
    check("create", &export(most), "allowed");
    check("create", &export(most + 1), &refused(most + 1));
    check("update", &update(1, most + 1), &refused(most + 1));
    check("update", &update(most + 2, most + 1), "allowed");
    check("update", &update(most + 2, most + 3), &refused(most + 3));
}

/// Each takes many times its bytes in the memory of the leader and of every other member.
#[test]
fn an_export_has_64_labels_and_64_annotations_at_most() {
    for field in ["labels", "annotations"] {
        let service = |number: usize| {
            let all: Vec<String> = (0..number).map(|key| format!("k{key}: v")).collect();
            let origin = format!("origin: {{type: ClusterSetIP, {field}: {{{}}}}}", all.join(", "));
            with(SERVICE, "service: {", &format!("service: {{{origin}, "))
        };
        check_most(64, service, &format!("{field} for ServiceImports"));
    }
}

/// Each is an EndpointSlice in every other member.
#[test]
fn an_export_has_100_different_lists_of_ports_at_most() {
    let ports = |number: usize| format!("ports: [{{name: http, port: {}}}]", 8_000 + number);
    let slice = |number: usize| {
        let endpoints = format!("endpoints: [{{addresses: [10.1.{number}.1]}}]");
        format!("{{addressType: IPv4, {}, {endpoints}}}", ports(number))
    };
    let subset = |number: usize| format!("{{addresses: [{{ip: 10.1.{number}.1}}], {}}}", ports(number));
    let all: [(&str, &dyn Fn(usize) -> String); 2] = [("endpointSlices", &slice), ("subsets", &subset)];
    for (field, of) in all {
        let export = |number: usize| {
            let all: Vec<String> = (0..number).chain([0]).map(of).collect();
            let payload = format!("{field}: [{}]", all.join(", "));
            with(ENDPOINTS, "subsets: [{addresses: [{ip: 10.1.0.7}]}]", &payload)
        };
        check_most(100, export, "different lists of ports");
    }
}

/// An export of this many endpoints with this many ports.
fn slice(name: &str, endpoints: usize, ports: usize) -> String {
    let endpoints =
        (0..endpoints).map(|number| format!("{{addresses: [10.1.{}.{}]}}", number / 200, number % 200 + 1));
    let ports = (1..=ports).map(|port| format!("{{name: p{port}, port: {port}}}"));
    let (endpoints, ports) = (endpoints.collect::<Vec<_>>().join(", "), ports.collect::<Vec<_>>().join(", "));
    let slice =
        format!("endpointSlices: [{{addressType: IPv4, ports: [{ports}], endpoints: [{endpoints}]}}]");
    other(&with(ENDPOINTS, "subsets: [{addresses: [{ip: 10.1.0.7}]}]", &slice), name)
}

/// Each pair is a flow on every Node of every other member.
#[test]
fn a_member_exports_so_many_endpoints_times_ports_and_no_more() {
    let (web, api) = (slice("web", 30, 10), slice("api", 20, 10));
    let known = known(Limits { endpoint_ports: 500, ..MANY }, &[web.as_str()]);
    let check =
        |verb: &str, yaml: &str, expected: &str| check_in(&known, "mc/east-token", verb, yaml, expected);
    check("create", &api, "allowed");
    let refused = "403: with this export cluster east would have 510 endpoints times ports; at most 500 are allowed: an admin of the leader may raise \
                   leader.memberLimits.endpointPorts";
    check("create", &slice("api", 21, 10), refused);
    check("update", &format!("{web}---{}", slice("web", 50, 10)), "allowed");
    let large = slice("web", 201, 100);
    let refused = "403: the ResourceExport has 20100 endpoints times ports; at most 20000 are allowed";
    check("create", &large, refused);
    check("update", &format!("{}---{large}", slice("web", 202, 100)), "allowed");
}
