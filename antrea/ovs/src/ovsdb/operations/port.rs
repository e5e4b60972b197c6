//! Ports, each with one interface of the same name.

use std::collections::BTreeMap;

use antrea_types::OfPort;
use serde_json::{Map, Value, json};

use super::Complete;
use crate::ovsdb::client::OvsDb;
use crate::ovsdb::error::OvsDbError;
use crate::ovsdb::rows::{Interface, Port};
use crate::ovsdb::snapshot::{BridgePort, Snapshot};
use crate::ovsdb::spec::PortSpec;
use crate::ovsdb::transaction::{Target, Transaction, map, named};
use crate::ovsdb::uuid::Uuid;

impl OvsDb {
    /// Makes the port what `spec` says, and returns the port number that ovs-vswitchd assigned. A new port takes one
    /// round trip to the server, and the time until ovs-vswitchd has created it.
    ///
    /// # Errors
    /// [`OvsDbError::Interface`] when ovs-vswitchd cannot use the interface; the port is removed again. For the others
    /// see [`OvsDbError`].
    pub async fn ensure_port(&self, bridge: &str, spec: &PortSpec) -> Result<OfPort, OvsDbError> {
        let complete = match self.snapshot().port(&spec.name) {
            // A new interface is complete when it has a number, which is sooner than the whole configuration is.
            None => Complete::Written,
            Some(_) => Complete::TakenUp,
        };
        let what = format!("port {}", spec.name);
        self.reconcile(&what, complete, |snapshot| plan(snapshot, bridge, spec)).await?;
        let assigned = self.wait_for(&what, |snapshot| number(snapshot, &spec.name)).await?;
        if let Err(OvsDbError::Interface { .. }) = &assigned {
            self.delete_port(bridge, &spec.name).await?;
        }
        assigned
    }

    /// Deletes a port and its interface. It is no error if there is none.
    ///
    /// # Errors
    /// [`OvsDbError::PortElsewhere`], and what [`OvsDb::transact`] returns.
    pub async fn delete_port(&self, bridge: &str, name: &str) -> Result<(), OvsDbError> {
        let plan = |snapshot: &Snapshot| {
            let Some(row) = snapshot.port_row(name) else { return Ok(None) };
            on_bridge(snapshot, bridge, name)?;
            let transaction = Transaction::new(format!("deletes port {name}"));
            Ok(Some(transaction.mutate("Bridge", Target::Named(bridge), &[without(row)])))
        };
        self.reconcile("a port", Complete::Written, plan).await
    }

    /// Replaces the notes on a port.
    ///
    /// # Errors
    /// [`OvsDbError::NoSuchPort`], and what [`OvsDb::transact`] returns.
    pub async fn set_port_external_ids(
        &self,
        name: &str,
        external_ids: &BTreeMap<String, String>,
    ) -> Result<(), OvsDbError> {
        let plan = |snapshot: &Snapshot| {
            let port = snapshot.port(name).ok_or_else(|| OvsDbError::NoSuchPort(name.to_owned()))?.port;
            let transaction =
                Transaction::new(format!("notes what port {name} is for")).require("Port", name);
            Ok(notes(external_ids, &port)
                .map(|columns| transaction.update("Port", Target::Named(name), columns)))
        };
        self.reconcile("a port", Complete::Written, plan).await
    }

    /// The ports of a bridge in the order of their names.
    ///
    /// # Errors
    /// [`OvsDbError::NoSuchBridge`].
    pub fn ports(&self, bridge: &str) -> Result<Vec<BridgePort>, OvsDbError> {
        let snapshot = self.snapshot();
        snapshot.bridge(bridge).ok_or_else(|| OvsDbError::NoSuchBridge(bridge.to_owned()))?;
        Ok(snapshot.ports(bridge))
    }
}

/// What is left to do to the port.
fn plan(snapshot: &Snapshot, bridge: &str, spec: &PortSpec) -> Result<Option<Transaction>, OvsDbError> {
    snapshot.bridge(bridge).ok_or_else(|| OvsDbError::NoSuchBridge(bridge.to_owned()))?;
    let (Some(row), Some(present)) = (snapshot.port_row(&spec.name), snapshot.port(&spec.name)) else {
        return Ok(Some(create(bridge, spec, None)));
    };
    on_bridge(snapshot, bridge, &spec.name)?;
    // An interface that could not be created once is tried again as a new one: its error would stay otherwise.
    if present.interface.error.is_some() || present.port.interfaces.len() != 1 {
        return Ok(Some(create(bridge, spec, Some(row))));
    }
    Ok(update(spec, &present))
}

fn on_bridge(snapshot: &Snapshot, bridge: &str, port: &str) -> Result<(), OvsDbError> {
    match snapshot.bridge_of(port) {
        Some(other) if other.name != bridge => {
            Err(OvsDbError::PortElsewhere { port: port.to_owned(), bridge: other.name.clone() })
        }
        _ => Ok(()),
    }
}

fn create(bridge: &str, spec: &PortSpec, instead_of: Option<Uuid>) -> Transaction {
    let mut interface = columns(spec, &Interface::default());
    interface.insert("name".to_owned(), json!(spec.name));
    let mut port = notes(&spec.external_ids, &Port::default()).unwrap_or_default();
    port.insert("name".to_owned(), json!(spec.name));
    port.insert("interfaces".to_owned(), named("interface"));
    let mut mutations: Vec<Value> = instead_of.map(without).into_iter().collect();
    mutations.push(json!(["ports", "insert", named("port")]));
    Transaction::new(format!("adds port {} to bridge {bridge}", spec.name))
        .require("Bridge", bridge)
        .insert("Interface", "interface", interface)
        .insert("Port", "port", port)
        .mutate("Bridge", Target::Named(bridge), &mutations)
}

fn update(spec: &PortSpec, present: &BridgePort) -> Option<Transaction> {
    let interface = columns(spec, &present.interface);
    let notes = notes(&spec.external_ids, &present.port);
    if interface.is_empty() && notes.is_none() {
        return None;
    }
    let target = Target::Named(&spec.name);
    let mut transaction = Transaction::new(format!("changes port {}", spec.name)).require("Port", &spec.name);
    if !interface.is_empty() {
        transaction = transaction.update("Interface", target, interface);
    }
    if let Some(notes) = notes {
        transaction = transaction.update("Port", target, notes);
    }
    Some(transaction)
}

/// The columns of the interface that differ from what is wanted.
fn columns(spec: &PortSpec, row: &Interface) -> Map<String, Value> {
    let mut columns = Map::new();
    let mut differs = |column: &str, value: Value| columns.insert(column.to_owned(), value);
    if !spec.interface_type.is_of(row) {
        differs("type", json!(spec.interface_type.as_str()));
    }
    if spec.options != row.options {
        differs("options", map(&spec.options));
    }
    if let Some(wanted) =
        spec.ofport_request.map(|port| i64::from(port.0)).filter(|port| row.ofport_request != Some(*port))
    {
        differs("ofport_request", json!(wanted));
    }
    if let Some(wanted) = spec.mac.filter(|mac| row.mac != Some(*mac)) {
        differs("mac", json!(wanted.to_string()));
    }
    if let Some(wanted) = spec.mtu_request.map(i64::from).filter(|mtu| row.mtu_request != Some(*mtu)) {
        differs("mtu_request", json!(wanted));
    }
    columns
}

fn notes(wanted: &BTreeMap<String, String>, port: &Port) -> Option<Map<String, Value>> {
    (*wanted != port.external_ids).then(|| Map::from_iter([("external_ids".to_owned(), map(wanted))]))
}

/// The mutation that takes a port off its bridge; the server then deletes the rows that nothing refers to.
fn without(port: Uuid) -> Value {
    json!(["ports", "delete", port.reference()])
}

/// The number of a port, or why it has none; nothing while ovs-vswitchd has not said either.
fn number(snapshot: &Snapshot, name: &str) -> Option<Result<OfPort, OvsDbError>> {
    let Some(BridgePort { interface, .. }) = snapshot.port(name) else {
        return Some(Err(OvsDbError::NoSuchPort(name.to_owned())));
    };
    match (&interface.error, interface.of_port()) {
        (Some(reason), _) => {
            Some(Err(OvsDbError::Interface { interface: name.to_owned(), reason: reason.clone() }))
        }
        (None, Some(number)) => Some(Ok(number)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests;
