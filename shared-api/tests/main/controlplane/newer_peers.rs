//! What peers of other versions may send: what is new is skipped, what cannot be understood is an error that names the
//! field.

use antrea_shared_api::api::from_json;
use antrea_shared_api::api::{WireObject, to_json};
use antrea_shared_api::controlplane::v1beta2::{
    AddressGroup, ClusterGroupMembers, GroupAssociation, NetworkPolicy, NetworkPolicyEvaluation,
    NetworkPolicyStatus, NodeStatsSummary,
};
use antrea_shared_api::meta::Status;
use antrea_shared_api::protobuf::{Message, WireType, Writer, decode, encode};
use serde_json::json;

/// A policy of one rule, whose fields are written by `rule`, the last first.
fn policy(rule: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.nested(2, rule);
    writer.finish()
}

#[track_caller]
fn check_error(policy: &[u8], expected: &str) {
    assert_eq!(NetworkPolicy::read(policy).unwrap_err().to_string(), expected);
}

#[test]
fn words_and_numbers_that_are_not_known_name_their_field() {
    let known = "In, Out";
    check_error(
        &policy(|rule| rule.bytes_field(1, b"Sideways")),
        &format!("rules[0].direction: \"Sideways\" is none of {known}"),
    );
    check_error(&policy(|_| {}), "rules[0].direction: it is missing");
    check_error(
        &policy(|rule| {
            rule.bytes_field(6, b"Maybe");
            rule.bytes_field(1, b"In");
        }),
        "rules[0].action: \"Maybe\" is none of Allow, Drop, Reject, Pass",
    );
    check_error(
        &policy(|rule| {
            rule.nested(4, |service| service.bytes_field(1, b"QUIC"));
            rule.bytes_field(1, b"In");
        }),
        "rules[0].services[0].protocol: \"QUIC\" is none of TCP, UDP, SCTP, ICMP, IGMP",
    );
    check_error(
        &policy(|rule| rule.nested(4, |service| service.varint_field(3, 70_000))),
        "rules[0].services[0].endPort: 70000 is out of range",
    );
    check_error(
        &policy(|rule| rule.varint_field(1, 1)),
        "rules[0].direction: it is not encoded as its type is",
    );
}

#[test]
fn priorities_are_finite() {
    let mut writer = Writer::default();
    writer.bytes(&f64::NAN.to_le_bytes());
    writer.tag(4, WireType::Fixed64);
    check_error(&writer.finish(), "priority: it is no finite number");
}

#[test]
fn networks_have_an_address_and_a_prefix_of_its_family() {
    let block = |cidr: &dyn Fn(&mut Writer)| {
        policy(|rule| rule.nested(2, |peer| peer.nested(2, |block| block.nested(1, cidr))))
    };
    check_error(&block(&|_| {}), "rules[0].from.ipBlocks[0].cidr.ip: it is missing");
    check_error(
        &block(&|cidr| cidr.bytes_field(1, &[10, 0, 0])),
        "rules[0].from.ipBlocks[0].cidr.ip: an IP address has 4 or 16 bytes, not 3",
    );
    check_error(
        &block(&|cidr| {
            cidr.varint_field(2, 33);
            cidr.bytes_field(1, &[10, 0, 0, 0]);
        }),
        "rules[0].from.ipBlocks[0].cidr: /33 is no prefix length of its family",
    );
    check_error(
        &policy(|rule| rule.nested(2, |peer| peer.nested(2, |_| {}))),
        "rules[0].from.ipBlocks[0].cidr: it is missing",
    );
}

#[test]
fn fields_that_are_not_known_are_skipped() {
    let policy = policy(|rule| {
        rule.nested(77, |newer| newer.bytes_field(1, b"x"));
        rule.varint_field(78, 1);
        rule.bytes(&[0; 8]);
        rule.tag(79, WireType::Fixed64);
        rule.bytes(&[0; 4]);
        rule.tag(80, WireType::Fixed32);
        rule.bytes_field(1, b"Out");
    });
    assert_eq!(
        to_json(&NetworkPolicy::read(&policy).unwrap()).map(|json| super::json(&json)).unwrap(),
        json!({"kind": "NetworkPolicy", "apiVersion": "controlplane.antrea.io/v1beta2", "metadata": {},
            "rules": [{"direction": "Out", "from": {}, "to": {}, "enableLogging": false}]})
    );
}

#[test]
fn an_object_of_another_kind_is_refused() {
    let group = encode(&AddressGroup::default());
    assert_eq!(
        decode::<NetworkPolicy>(&group).unwrap_err().to_string(),
        "it is controlplane.antrea.io/v1beta2 AddressGroup, not controlplane.antrea.io/v1beta2 NetworkPolicy"
    );
    assert_eq!(decode::<NetworkPolicy>(b"{}").unwrap_err().to_string(), "it is no protobuf of Kubernetes");
}

#[track_caller]
fn check_json_error(rule: &serde_json::Value, expected: &str) {
    let policy =
        json!({"kind": "NetworkPolicy", "apiVersion": "controlplane.antrea.io/v1beta2", "rules": [rule]});
    let error = from_json::<NetworkPolicy>(policy.to_string().as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn json_is_as_strict() {
    check_json_error(&json!({"direction": "Up"}), "direction: \"Up\" is none of In, Out");
    check_json_error(&json!({}), "missing field `direction`");
    check_json_error(
        &json!({"direction": "In", "action": "Maybe"}),
        "action: \"Maybe\" is none of Allow, Drop, Reject, Pass",
    );
    check_json_error(&json!({"direction": "In", "services": [{"port": 65536}]}), "65536 is out of range");
    check_json_error(&json!({"direction": "In", "from": {"ipBlocks": [{}]}}), "missing field `cidr`");
    check_json_error(
        &json!({"direction": "In", "from": {"ipBlocks": [{"cidr": {"ip": "CgAAAA==", "prefixLength": 33}}]}}),
        "/33 is no prefix length of its family",
    );
}

/// An object that was not recorded: its JSON as upstream's types have it, and that both encodings carry all of it.
#[track_caller]
fn check_object<T: WireObject>(mut object: serde_json::Value) {
    object["kind"] = T::KIND.into();
    object["apiVersion"] = T::API_VERSION.into();
    let read: T = from_json(object.to_string().as_bytes()).unwrap();
    let through_protobuf: T = decode(&encode(&read)).unwrap();
    assert_eq!(super::json(&to_json(&through_protobuf).unwrap()), object);
}

#[test]
fn every_field_comes_through_both_encodings() {
    check_object::<NetworkPolicy>(json!({
        "metadata": {"name": "u", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 3,
            "creationTimestamp": "2026-11-21T09:51:39Z", "labels": {"a": "b", "c": ""}, "annotations": {"d": "e"}},
        "rules": [{"direction": "In",
            "from": {"addressGroups": ["g"], "ipBlocks": [{"cidr": {"ip": "/QAAAAAAAAAAAAAAAAAAAQ==", "prefixLength": 64}}],
                "fqdns": ["*.example.com"], "toServices": [{"name": "s", "namespace": "n"}], "labelIdentities": [1, 300]},
            "to": {}, "services": [{"protocol": "SCTP", "port": "http"}, {"icmpType": 8, "icmpCode": 0},
                {"protocol": "IGMP", "igmpType": 17, "groupAddress": "224.0.0.1"},
                {"protocol": "UDP", "port": 0, "endPort": 65535, "srcPort": 1, "srcEndPort": 2}],
            "priority": -1, "action": "Reject", "enableLogging": true, "appliedToGroups": ["h"], "name": "r",
            "l7Protocols": [{"http": {"host": "h", "method": "GET", "path": "/"}}, {"http": {}}, {"tls": {"sni": "x"}}],
            "logLabel": "l"}],
        "appliedToGroups": ["a", "b"], "priority": 1.5, "tierPriority": 250,
        "sourceRef": {"type": "K8sClusterNetworkPolicy", "name": "p", "uid": "u"},
    }));
    check_object::<AddressGroup>(json!({"metadata": {}, "groupMembers": [
        {"pod": {"name": "p", "namespace": "n"}, "ips": ["AAAAAAAAAAAAAP//CgsABA=="], "ports": [{"port": 80, "name": "h", "protocol": "TCP"}]},
        {"externalEntity": {"name": "e", "namespace": "n"}}, {"node": {"name": "n1"}}, {"service": {"name": "s", "namespace": "n"}}]}));
    check_object::<NetworkPolicyStatus>(json!({"metadata": {"name": "u"}, "nodes": [
        {"nodeName": "n1", "generation": 2, "realizationFailure": true, "message": "no"}, {"nodeName": "n2"}]}));
    check_object::<NodeStatsSummary>(json!({"metadata": {"name": "n1"},
        "networkPolicies": [{"networkPolicy": {"type": "K8sNetworkPolicy", "namespace": "n", "name": "p", "uid": "u"},
            "trafficStats": {"packets": 3, "bytes": 200, "sessions": 1}}],
        "antreaClusterNetworkPolicies": [{"networkPolicy": {"type": "AntreaClusterNetworkPolicy", "name": "p", "uid": "u"},
            "trafficStats": {}, "ruleTrafficStats": [{"name": "r", "trafficStats": {"packets": 1}}]}],
        "antreaNetworkPolicies": [{"networkPolicy": {"uid": "u"}, "trafficStats": {}}],
        "multicast": [{"group": "224.3.4.5", "pods": [{"name": "p", "namespace": "n"}]}]}));
    check_object::<NetworkPolicyEvaluation>(json!({"metadata": {},
        "request": {"source": {"pod": {"name": "a", "namespace": "n"}}, "destination": {"pod": {"name": "b", "namespace": "n"}}},
        "response": {"networkPolicy": {"type": "K8sNetworkPolicy", "namespace": "n", "name": "p", "uid": "u"},
            "ruleIndex": 2_147_483_647, "rule": {"direction": "In", "action": "Drop"}}}));
    check_object::<GroupAssociation>(
        json!({"metadata": {}, "associatedGroups": [{"namespace": "n", "name": "g", "uid": "u"}]}),
    );
    check_object::<ClusterGroupMembers>(
        json!({"metadata": {"name": "g"}, "effectiveMembers": [{"node": {"name": "n1"}}],
        "effectiveIPBlocks": [{"ip": "AAAAAAAAAAAAAP//AAAAAA=="}], "totalMembers": 1, "totalPages": 1, "currentPage": 1}),
    );
    check_object::<Status>(json!({"metadata": {}, "status": "Failure", "message": "m", "reason": "Expired",
        "details": {"name": "x", "kind": "addressgroups", "retryAfterSeconds": 1}, "code": 410}));
}
