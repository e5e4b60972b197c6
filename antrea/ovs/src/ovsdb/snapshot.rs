//! A copy of the database at one moment, kept current by the monitor's updates.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::column::{BadValue, Change};
use super::rows::{Bridge, Interface, OpenVSwitch, Port, Row};
use super::uuid::Uuid;

/// The rows of a table by their identity.
type Table<T> = BTreeMap<Uuid, Arc<T>>;

/// The database at one moment. Cheap to clone: rows are shared between snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    open_vswitch: Table<OpenVSwitch>,
    bridges: Table<Bridge>,
    ports: Table<Port>,
    interfaces: Table<Interface>,
}

/// A port of a bridge together with its interface (of a bond: the first).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgePort {
    /// The row of the port.
    pub port: Arc<Port>,
    /// The row of its interface.
    pub interface: Arc<Interface>,
}

impl Snapshot {
    /// The configuration of the switch, unless the database is empty.
    pub fn open_vswitch(&self) -> Option<&OpenVSwitch> {
        self.open_vswitch.values().next().map(Arc::as_ref)
    }

    /// All bridges.
    pub fn bridges(&self) -> impl Iterator<Item = &Bridge> {
        self.bridges.values().map(Arc::as_ref)
    }

    /// The bridge of that name.
    pub fn bridge(&self, name: &str) -> Option<&Bridge> {
        self.bridges().find(|bridge| bridge.name == name)
    }

    /// The port of that name, whichever bridge it is on.
    pub fn port(&self, name: &str) -> Option<BridgePort> {
        let port = self.ports.values().find(|port| port.name == name)?;
        self.with_interface(port)
    }

    /// The ports of a bridge in the order of their names; none where there is no such bridge.
    pub fn ports(&self, bridge: &str) -> Vec<BridgePort> {
        let rows = self.bridge(bridge).into_iter().flat_map(|bridge| &bridge.ports);
        let ports = rows.filter_map(|row| self.ports.get(row));
        let mut ports: Vec<_> = ports.filter_map(|port| self.with_interface(port)).collect();
        ports.sort_by(|a, b| a.port.name.cmp(&b.port.name));
        ports
    }

    /// The bridge that a port is on.
    pub fn bridge_of(&self, port: &str) -> Option<&Bridge> {
        let (row, _) = self.ports.iter().find(|(_, row)| row.name == port)?;
        self.bridges().find(|bridge| bridge.ports.contains(row))
    }

    /// The identity of a bridge's row.
    pub(crate) fn bridge_row(&self, name: &str) -> Option<Uuid> {
        self.bridges.iter().find(|(_, bridge)| bridge.name == name).map(|(row, _)| *row)
    }

    /// The identity of a port's row.
    pub fn port_row(&self, name: &str) -> Option<Uuid> {
        self.ports.iter().find(|(_, port)| port.name == name).map(|(row, _)| *row)
    }

    fn with_interface(&self, port: &Arc<Port>) -> Option<BridgePort> {
        let interface = port.interfaces.iter().find_map(|row| self.interfaces.get(row))?;
        Some(BridgePort { port: Arc::clone(port), interface: Arc::clone(interface) })
    }

    /// Applies `<table-updates2>` (ovsdb-server(7) §4.1.14).
    pub(crate) fn apply(&mut self, updates: &Value) -> Result<(), BadUpdate> {
        let tables = updates.as_object().ok_or_else(|| BadUpdate::Shape(updates.to_string()))?;
        for (name, rows) in tables {
            match name.as_str() {
                OpenVSwitch::TABLE => update_table(&mut self.open_vswitch, rows)?,
                Bridge::TABLE => update_table(&mut self.bridges, rows)?,
                Port::TABLE => update_table(&mut self.ports, rows)?,
                Interface::TABLE => update_table(&mut self.interfaces, rows)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// An update that cannot be applied: the copy is no longer one of the server's database.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadUpdate {
    #[error("not an update of tables: {0}")]
    Shape(String),
    #[error("column {column} of table {table}")]
    Column { table: &'static str, column: String, source: BadValue },
}

fn update_table<T: Row>(table: &mut Table<T>, rows: &Value) -> Result<(), BadUpdate> {
    let rows = rows.as_object().ok_or_else(|| BadUpdate::Shape(rows.to_string()))?;
    for (row, update) in rows {
        let row: Uuid = row.parse().map_err(|_| BadUpdate::Shape(row.clone()))?;
        let (kind, columns) = update
            .as_object()
            .and_then(|update| update.iter().next())
            .ok_or_else(|| BadUpdate::Shape(update.to_string()))?;
        match kind.as_str() {
            "initial" | "insert" => {
                table.insert(row, Arc::new(changed(T::default(), columns, Change::Whole)?));
            }
            "modify" => {
                let old = table.get(&row).map(|row| row.as_ref().clone()).unwrap_or_default();
                table.insert(row, Arc::new(changed(old, columns, Change::Difference)?));
            }
            "delete" => {
                table.remove(&row);
            }
            _ => return Err(BadUpdate::Shape(update.to_string())),
        }
    }
    Ok(())
}

fn changed<'a, T: Row>(
    mut row: T,
    columns: &'a Value,
    change: impl Fn(&'a Value) -> Change<'a>,
) -> Result<T, BadUpdate> {
    let columns = columns.as_object().ok_or_else(|| BadUpdate::Shape(columns.to_string()))?;
    for (column, value) in columns {
        row.apply(column, change(value)).map_err(|source| BadUpdate::Column {
            table: T::TABLE,
            column: column.clone(),
            source,
        })?;
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BRIDGE: &str = "9cf237dc-832b-4bb2-9253-8e3f7b64ef7f";
    const PORT: &str = "99d3021c-3051-4093-a945-d4d8ab66873a";
    const INTERFACE: &str = "ed74d06e-832d-47a3-b854-6cce2169e54d";

    fn snapshot() -> Snapshot {
        let mut snapshot = Snapshot::default();
        let updates = json!({
            "Bridge": {BRIDGE: {"initial": {"name": "br-int", "ports": ["uuid", PORT]}}},
            "Port": {PORT: {"initial": {
                "name": "antrea-gw0", "interfaces": ["uuid", INTERFACE],
                "external_ids": ["map", [["antrea-type", "gateway"]]]}}},
            "Interface": {INTERFACE: {"initial": {"name": "antrea-gw0", "type": "internal"}}},
            "Controller": {BRIDGE: {"initial": {}}},
        });
        snapshot.apply(&updates).unwrap();
        snapshot
    }

    #[test]
    fn ports_come_with_their_interface() {
        let ports = snapshot().ports("br-int");
        let [port] = ports.as_slice() else { panic!("{ports:?}") };
        assert_eq!(port.port.external_ids["antrea-type"], "gateway");
        assert_eq!(port.interface.interface_type, "internal");
        assert_eq!(port.interface.of_port(), None);
    }

    #[test]
    fn modifications_touch_only_the_columns_they_name() {
        let mut snapshot = snapshot();
        snapshot.apply(&json!({"Interface": {INTERFACE: {"modify": {"ofport": 32769}}}})).unwrap();
        let interface = snapshot.port("antrea-gw0").unwrap().interface;
        assert_eq!((interface.ofport, interface.name.as_str()), (Some(32769), "antrea-gw0"));
    }

    #[test]
    fn deleted_rows_are_gone() {
        let mut snapshot = snapshot();
        snapshot
            .apply(&json!({"Port": {PORT: {"delete": null}}, "Interface": {INTERFACE: {"delete": null}}}))
            .unwrap();
        assert_eq!(snapshot.ports("br-int"), []);
        assert_eq!(snapshot.bridge("br-int").unwrap().name, "br-int");
    }

    #[test]
    fn an_update_of_the_wrong_type_names_table_and_column() {
        let error = snapshot().apply(&json!({"Port": {PORT: {"modify": {"name": 1}}}})).unwrap_err();
        assert_eq!(error.to_string(), "column name of table Port");
    }
}
