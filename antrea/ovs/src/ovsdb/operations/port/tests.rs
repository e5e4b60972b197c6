//! What is done to a port, from the rows that are there.

use super::*;
use crate::ovsdb::spec::InterfaceType;

const BRIDGE: &str = "9cf237dc-832b-4bb2-9253-8e3f7b64ef7f";
const PORT: &str = "99d3021c-3051-4093-a945-d4d8ab66873a";
const INTERFACE: &str = "ed74d06e-832d-47a3-b854-6cce2169e54d";

fn gateway() -> PortSpec {
    PortSpec {
        ofport_request: Some(OfPort::GATEWAY),
        mac: Some("02:83:db:9d:af:a1".parse().unwrap()),
        mtu_request: Some(1450),
        external_ids: BTreeMap::from([("antrea-type".to_owned(), "gateway".to_owned())]),
        ..PortSpec::new("antrea-gw0", InterfaceType::Internal)
    }
}

/// A database where the gateway's port is as wanted, apart from what `interface` says.
fn snapshot(interface: &Value) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let initial = json!({
        "name": "antrea-gw0", "type": "internal", "ofport_request": 32769, "mac": "02:83:db:9d:af:a1", "mtu_request": 1450,
    });
    let bridge = json!({"name": "br-int", "ports": ["uuid", PORT]});
    let port = json!({
        "name": "antrea-gw0", "interfaces": ["uuid", INTERFACE], "external_ids": ["map", [["antrea-type", "gateway"]]],
    });
    snapshot
        .apply(&json!({
            "Bridge": {BRIDGE: {"initial": bridge}}, "Port": {PORT: {"initial": port}},
            "Interface": {INTERFACE: {"initial": initial}},
        }))
        .unwrap();
    snapshot.apply(&json!({"Interface": {INTERFACE: {"modify": interface}}})).unwrap();
    snapshot
}

#[track_caller]
fn check(snapshot: &Snapshot, expected: &[&str]) {
    let transaction = plan(snapshot, "br-int", &gateway()).unwrap();
    let params = transaction.map(|transaction| transaction.params()).unwrap_or(json!([]));
    let operations = params.as_array().unwrap().iter().skip(2);
    let text = operations.map(|operation| {
        let what = operation.get("row").or_else(|| operation.get("mutations"));
        format!("{} {} {}", operation["op"], operation["table"], what.unwrap_or(&Value::Null))
            .replace('"', "")
    });
    assert_eq!(text.collect::<Vec<_>>(), expected);
}

#[test]
fn a_port_that_is_as_wanted_is_left_alone() {
    check(&snapshot(&json!({})), &[]);
}

#[test]
fn a_missing_port_is_added_to_its_bridge() {
    let mut snapshot = Snapshot::default();
    snapshot.apply(&json!({"Bridge": {BRIDGE: {"initial": {"name": "br-int"}}}})).unwrap();
    check(
        &snapshot,
        &[
            "wait Bridge null",
            "insert Interface {type:internal,ofport_request:32769,mac:02:83:db:9d:af:a1,mtu_request:1450,name:antrea-gw0}",
            "insert Port {external_ids:[map,[[antrea-type,gateway]]],name:antrea-gw0,interfaces:[named-uuid,interface]}",
            "mutate Bridge [[ports,insert,[named-uuid,port]]]",
        ],
    );
}

#[test]
fn only_the_columns_that_differ_are_written() {
    check(
        &snapshot(&json!({"mtu_request": 1500, "mac": ["set", []]})),
        &["wait Port null", "update Interface {mac:02:83:db:9d:af:a1,mtu_request:1450}"],
    );
}

#[test]
fn an_interface_in_error_is_made_anew() {
    let snapshot = snapshot(&json!({"error": "could not open network device"}));
    let transaction = plan(&snapshot, "br-int", &gateway()).unwrap().unwrap();
    let mutations =
        format!(r#"[["ports","delete",["uuid","{PORT}"]],["ports","insert",["named-uuid","port"]]]"#);
    assert!(transaction.params().to_string().contains(&mutations));
}

#[test]
fn a_port_of_another_bridge_is_not_taken_away() {
    let mut snapshot = snapshot(&json!({}));
    snapshot.apply(&json!({"Bridge": {INTERFACE: {"insert": {"name": "br-ext"}}}})).unwrap();
    let error = plan(&snapshot, "br-ext", &gateway()).unwrap_err();
    assert_eq!(error.to_string(), "port antrea-gw0 is on bridge br-int already");
}

#[test]
fn the_number_is_awaited_until_there_is_one_or_an_error() {
    let wait = |interface: Value| number(&snapshot(&interface), "antrea-gw0");
    assert!(wait(json!({})).is_none());
    assert!(wait(json!({"ofport": -1})).is_none());
    assert_eq!(wait(json!({"ofport": 32769})).unwrap().unwrap(), OfPort::GATEWAY);
    let error = wait(json!({"ofport": -1, "error": "No such device"})).unwrap().unwrap_err();
    assert_eq!(error.to_string(), "ovs-vswitchd cannot use interface antrea-gw0: No such device");
}
