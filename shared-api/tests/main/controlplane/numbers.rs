//! Numbers of fields that were not in what was recorded, as upstream's types have them.

use antrea_shared_api::controlplane::v1beta2::{
    ClusterGroupMembers, GroupReference, HttpProtocol, NetworkPolicyNodeStatus, Service, ServiceReference,
    TlsProtocol,
};
use antrea_shared_api::meta::{ListMeta, StatusDetails};
use antrea_shared_api::protobuf::{Fields, Message, Value, Writer};
use antrea_shared_api::stats::v1alpha1::TrafficStats;
use serde::de::DeserializeOwned;
use serde_json::json;

/// The object has the number of each field as its value; other fields are messages or absent.
#[track_caller]
fn check<T: Message + DeserializeOwned>(object: serde_json::Value, expected: &[u32]) {
    let object: T = serde_json::from_value(object).unwrap();
    let mut writer = Writer::default();
    object.write(&mut writer);
    let message = writer.finish();
    let numbered = Fields::of(&message).map(Result::unwrap).filter(|(number, value)| match value {
        Value::Varint(value) => *value == u64::from(*number),
        Value::Bytes(text) => *text == number.to_string().as_bytes(),
        Value::Fixed32(_) | Value::Fixed64(_) => false,
    });
    assert_eq!(numbered.map(|(number, _)| number).collect::<Vec<_>>(), expected);
}

#[test]
fn fields_have_upstreams_numbers() {
    check::<Service>(
        json!({"endPort": 3, "icmpType": 4, "icmpCode": 5, "igmpType": 6, "groupAddress": "7", "srcPort": 8, "srcEndPort": 9}),
        &[3, 4, 5, 6, 7, 8, 9],
    );
    check::<HttpProtocol>(json!({"host": "1", "method": "2", "path": "3"}), &[1, 2, 3]);
    check::<TlsProtocol>(json!({"sni": "1"}), &[1]);
    check::<ServiceReference>(json!({"name": "1", "namespace": "2"}), &[1, 2]);
    check::<NetworkPolicyNodeStatus>(
        json!({"nodeName": "1", "generation": 2, "realizationFailure": true, "message": "4"}),
        &[1, 2, 4],
    );
    check::<TrafficStats>(json!({"packets": 1, "bytes": 2, "sessions": 3}), &[1, 2, 3]);
    check::<GroupReference>(json!({"namespace": "1", "name": "2", "uid": "3"}), &[1, 2, 3]);
    check::<ClusterGroupMembers>(json!({"totalMembers": 4, "totalPages": 5, "currentPage": 6}), &[4, 5, 6]);
    check::<ListMeta>(
        json!({"selfLink": "1", "resourceVersion": "2", "continue": "3", "remainingItemCount": 4}),
        &[1, 2, 3, 4],
    );
    check::<StatusDetails>(
        json!({"name": "1", "group": "2", "kind": "3", "retryAfterSeconds": 5, "uid": "6"}),
        &[1, 2, 3, 5, 6],
    );
}
