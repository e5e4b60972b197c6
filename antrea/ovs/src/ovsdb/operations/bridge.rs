//! Bridges.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{Complete, missing, put};
use crate::ovsdb::client::OvsDb;
use crate::ovsdb::error::OvsDbError;
use crate::ovsdb::monitor::DATABASE;
use crate::ovsdb::rows::Bridge;
use crate::ovsdb::snapshot::Snapshot;
use crate::ovsdb::spec::{BridgeSpec, InterfaceType, LocalPort};
use crate::ovsdb::transaction::{Target, Transaction, map, named, set};

impl OvsDb {
    /// Makes the bridge what `spec` says, and waits until ovs-vswitchd has taken it up: then its management socket
    /// is there.
    ///
    /// # Errors
    /// See [`OvsDbError`].
    pub async fn ensure_bridge(&self, spec: &BridgeSpec) -> Result<(), OvsDbError> {
        let what = format!("bridge {}", spec.name);
        self.reconcile(&what, Complete::TakenUp, |snapshot| plan(snapshot, spec)).await
    }

    /// Deletes a bridge with all its ports, and waits until ovs-vswitchd has. It is no error if there is none.
    ///
    /// # Errors
    /// See [`OvsDbError`].
    pub async fn delete_bridge(&self, name: &str) -> Result<(), OvsDbError> {
        let what = format!("the deletion of bridge {name}");
        let plan = |snapshot: &Snapshot| {
            Ok(snapshot.bridge_row(name).map(|row| {
                Transaction::new(format!("deletes bridge {name}")).mutate(
                    DATABASE,
                    Target::All,
                    &[json!(["bridges", "delete", row.reference()])],
                )
            }))
        };
        self.reconcile(&what, Complete::TakenUp, plan).await
    }

    /// Sets one note on a bridge, such as the round number of its flows.
    ///
    /// # Errors
    /// [`OvsDbError::NoSuchBridge`], and what [`OvsDb::transact`] returns.
    pub async fn set_bridge_external_id(
        &self,
        bridge: &str,
        key: &str,
        value: &str,
    ) -> Result<(), OvsDbError> {
        let wanted = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let plan = |snapshot: &Snapshot| {
            let row = snapshot.bridge(bridge).ok_or_else(|| OvsDbError::NoSuchBridge(bridge.to_owned()))?;
            let missing = missing(&wanted, &row.external_ids);
            Ok((!missing.is_empty()).then(|| {
                Transaction::new(format!("sets {key} of bridge {bridge}")).require(TABLE, bridge).mutate(
                    TABLE,
                    Target::Named(bridge),
                    &put("external_ids", &missing),
                )
            }))
        };
        self.reconcile("a note on a bridge", Complete::Written, plan).await
    }
}

const TABLE: &str = "Bridge";

/// What is left to do to the bridge.
fn plan(snapshot: &Snapshot, spec: &BridgeSpec) -> Result<Option<Transaction>, OvsDbError> {
    snapshot.open_vswitch().ok_or(OvsDbError::NotInitialised)?;
    Ok(match snapshot.bridge(&spec.name) {
        None => Some(create(spec)),
        Some(row) => update(spec, row),
    })
}

fn create(spec: &BridgeSpec) -> Transaction {
    let mut row = columns(spec, &Bridge::default());
    row.insert("name".to_owned(), json!(spec.name));
    row.insert("external_ids".to_owned(), map(&spec.external_ids));
    row.insert("other_config".to_owned(), map(&spec.other_config));
    let mut transaction = Transaction::new(format!("creates bridge {}", spec.name));
    if spec.local_port == LocalPort::Listed {
        let interface = json!({"name": spec.name, "type": InterfaceType::Internal.as_str()});
        let port = json!({"name": spec.name, "interfaces": named("interface")});
        transaction = transaction.insert("Interface", "interface", object(interface)).insert(
            "Port",
            "port",
            object(port),
        );
        row.insert("ports".to_owned(), named("port"));
    }
    transaction.insert(TABLE, "bridge", row).mutate(
        DATABASE,
        Target::All,
        &[json!(["bridges", "insert", named("bridge")])],
    )
}

fn update(spec: &BridgeSpec, row: &Bridge) -> Option<Transaction> {
    let columns = columns(spec, row);
    let external_ids = missing(&spec.external_ids, &row.external_ids);
    let other_config = missing(&spec.other_config, &row.other_config);
    if columns.is_empty() && external_ids.is_empty() && other_config.is_empty() {
        return None;
    }
    let target = Target::Named(&spec.name);
    let mut transaction =
        Transaction::new(format!("changes bridge {}", spec.name)).require(TABLE, &spec.name);
    if !columns.is_empty() {
        transaction = transaction.update(TABLE, target, columns);
    }
    for (column, pairs) in [("external_ids", external_ids), ("other_config", other_config)] {
        if !pairs.is_empty() {
            transaction = transaction.mutate(TABLE, target, &put(column, &pairs));
        }
    }
    Some(transaction)
}

/// The columns that differ from what is wanted, maps left aside.
fn columns(spec: &BridgeSpec, row: &Bridge) -> Map<String, Value> {
    let mut columns = Map::new();
    let present =
        if row.datapath_type.is_empty() && !row.name.is_empty() { "system" } else { &row.datapath_type };
    if present != spec.datapath_type.as_str() {
        columns.insert("datapath_type".to_owned(), json!(spec.datapath_type.as_str()));
    }
    let protocols: BTreeSet<&str> = spec.protocols.iter().map(|protocol| protocol.as_str()).collect();
    if !row.protocols.iter().map(String::as_str).eq(protocols.iter().copied()) {
        columns.insert("protocols".to_owned(), set(protocols));
    }
    // Each change of it deletes all flows of the bridge: what was not asked for stays.
    let fail_mode = spec.fail_mode.map(|mode| mode.as_str());
    if fail_mode.is_some() && row.fail_mode.as_deref() != fail_mode {
        columns.insert("fail_mode".to_owned(), set(fail_mode));
    }
    columns
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ovsdb::spec::{DatapathType, FailMode, Protocol};

    const ROW: &str = "9cf237dc-832b-4bb2-9253-8e3f7b64ef7f";

    fn spec() -> BridgeSpec {
        BridgeSpec {
            protocols: vec![Protocol::OpenFlow15, Protocol::OpenFlow10],
            external_ids: BTreeMap::from([("a".to_owned(), "1".to_owned())]),
            ..BridgeSpec::new("br-int", DatapathType::System)
        }
    }

    /// The operations, without comment and `wait`, that are left to do where the bridge's row is `row`.
    fn operations(row: &Value, spec: &BridgeSpec) -> Vec<String> {
        let mut snapshot = Snapshot::default();
        snapshot
            .apply(&json!({"Open_vSwitch": {ROW: {"initial": {}}}, "Bridge": {ROW: {"initial": row}}}))
            .unwrap();
        let Some(transaction) = plan(&snapshot, spec).unwrap() else { return Vec::new() };
        let params = transaction.params();
        let operations = params.as_array().unwrap().iter().skip(1);
        let wanted =
            operations.filter(|operation| !matches!(operation["op"].as_str().unwrap(), "comment" | "wait"));
        wanted
            .map(|operation| {
                format!("{} {}", operation["op"], operation.get("row").unwrap_or(&operation["mutations"]))
            })
            .collect()
    }

    #[test]
    fn a_bridge_that_is_as_wanted_is_left_alone() {
        let row = json!({
            "name": "br-int", "protocols": ["set", ["OpenFlow10", "OpenFlow15"]],
            "external_ids": ["map", [["a", "1"], ["roundNum", "7"]]], "fail_mode": "secure",
        });
        assert_eq!(operations(&row, &spec()), Vec::<String>::new());
    }

    #[test]
    fn only_what_differs_is_changed() {
        let row = json!({"name": "br-int", "datapath_type": "netdev", "protocols": ["set", ["OpenFlow10", "OpenFlow15"]]});
        let spec = BridgeSpec { fail_mode: Some(FailMode::Secure), ..spec() };
        assert_eq!(
            operations(&row, &spec),
            [
                r#""update" {"datapath_type":"system","fail_mode":["set",["secure"]]}"#,
                r#""mutate" [["external_ids","delete",["set",["a"]]],["external_ids","insert",["map",[["a","1"]]]]]"#,
            ]
        );
    }

    #[test]
    fn a_new_bridge_is_put_in_the_list_of_bridges() {
        let spec = BridgeSpec { local_port: LocalPort::Listed, ..spec() };
        let operations = operations(&json!({"name": "other"}), &spec);
        assert_eq!(
            operations,
            [
                r#""insert" {"name":"br-int","type":"internal"}"#,
                r#""insert" {"name":"br-int","interfaces":["named-uuid","interface"]}"#,
                concat!(
                    r#""insert" {"datapath_type":"system","protocols":["set",["OpenFlow10","OpenFlow15"]],"name":"br-int","#,
                    r#""external_ids":["map",[["a","1"]]],"other_config":["map",[]],"ports":["named-uuid","port"]}"#
                ),
                r#""mutate" [["bridges","insert",["named-uuid","bridge"]]]"#,
            ]
        );
    }
}
