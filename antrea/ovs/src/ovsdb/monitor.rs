//! The monitor that keeps the copy of the database current (ovsdb-server(7) §4.1.12 and §4.1.15).

use serde_json::{Map, Value, json};

use super::rows::{Bridge, Interface, OpenVSwitch, Port, Row};
use super::snapshot::{BadUpdate, Snapshot};
use super::uuid::Uuid;

/// The name of the database.
pub(crate) const DATABASE: &str = "Open_vSwitch";

/// How changes are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Only what changed since a transaction we have seen, where the server remembers it.
    Since(Uuid),
    /// Everything first: for servers before 2.12.
    Conditional,
}

impl Method {
    /// The name and the parameters of the request.
    pub(crate) fn request(self) -> (&'static str, Value) {
        let tables = [table::<OpenVSwitch>(), table::<Bridge>(), table::<Port>(), table::<Interface>()];
        let tables: Map<String, Value> = tables.into_iter().collect();
        match self {
            Self::Since(transaction) => {
                ("monitor_cond_since", json!([DATABASE, DATABASE, tables, transaction.to_string()]))
            }
            Self::Conditional => ("monitor_cond", json!([DATABASE, DATABASE, tables])),
        }
    }

    /// Takes note of the last transaction that the copy includes.
    pub(crate) const fn seen(&mut self, transaction: Uuid) {
        if let Self::Since(last) = self {
            *last = transaction;
        }
    }

    /// The state of the database that the reply to the request describes; `known` is what the requested transaction
    /// left, and the second value is the transaction to ask for next time.
    pub(crate) fn initial(self, reply: &Value, known: &Snapshot) -> Result<(Snapshot, Uuid), BadUpdate> {
        let bad = || BadUpdate::Shape(reply.to_string().chars().take(200).collect());
        let (mut snapshot, transaction, updates) = match self {
            Self::Conditional => (Snapshot::default(), Uuid::ZERO, reply),
            Self::Since(_) => match reply.as_array().map(Vec::as_slice) {
                Some([Value::Bool(true), last, updates]) => (known.clone(), transaction(last), updates),
                Some([Value::Bool(false), last, updates]) => {
                    (Snapshot::default(), transaction(last), updates)
                }
                _ => return Err(bad()),
            },
        };
        snapshot.apply(updates)?;
        Ok((snapshot, transaction))
    }
}

/// Applies a notification; the transaction that it ends with, where it names one.
pub(crate) fn update(
    snapshot: &mut Snapshot,
    method: &str,
    params: &Value,
) -> Result<Option<Uuid>, BadUpdate> {
    match (method, params.as_array().map(Vec::as_slice)) {
        ("update3", Some([_, last, updates])) => {
            snapshot.apply(updates)?;
            Ok(Some(transaction(last)))
        }
        ("update2", Some([_, updates])) => {
            snapshot.apply(updates)?;
            Ok(None)
        }
        _ => Err(BadUpdate::Shape(method.to_owned())),
    }
}

/// A transaction we cannot read is one we cannot ask for.
fn transaction(value: &Value) -> Uuid {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or(Uuid::ZERO)
}

fn table<T: Row>() -> (String, Value) {
    (T::TABLE.to_owned(), json!([{"columns": T::COLUMNS}]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRIDGE: &str = "9cf237dc-832b-4bb2-9253-8e3f7b64ef7f";
    const LAST: &str = "8e97b81c-74ff-4456-b3f2-17d7f3d8b268";

    fn names(snapshot: &Snapshot) -> Vec<&str> {
        snapshot.bridges().map(|bridge| bridge.name.as_str()).collect()
    }

    fn known() -> Snapshot {
        let mut known = Snapshot::default();
        known.apply(&json!({"Bridge": {LAST: {"initial": {"name": "br-old"}}}})).unwrap();
        known
    }

    #[test]
    fn what_the_server_remembers_is_added_to_what_is_known() {
        let reply = json!([true, LAST, {"Bridge": {BRIDGE: {"insert": {"name": "br-int"}}}}]);
        let (snapshot, last) = Method::Since(Uuid::ZERO).initial(&reply, &known()).unwrap();
        assert_eq!((names(&snapshot), last.to_string().as_str()), (vec!["br-old", "br-int"], LAST));
    }

    #[test]
    fn what_it_does_not_remember_is_forgotten() {
        let updates = json!({"Bridge": {BRIDGE: {"initial": {"name": "br-int"}}}});
        let reply = json!([false, Uuid::ZERO.to_string(), updates]);
        let (snapshot, last) = Method::Since(Uuid::ZERO).initial(&reply, &known()).unwrap();
        assert_eq!((names(&snapshot), last), (vec!["br-int"], Uuid::ZERO));
        let (snapshot, _) = Method::Conditional.initial(&updates, &known()).unwrap();
        assert_eq!(names(&snapshot), ["br-int"]);
    }

    #[test]
    fn notifications_change_the_copy() {
        let mut snapshot = known();
        let updates = json!({"Bridge": {LAST: {"delete": null}}});
        assert_eq!(update(&mut snapshot, "update2", &json!([DATABASE, updates])).unwrap(), None);
        assert_eq!(snapshot, Snapshot::default());
        assert!(update(&mut snapshot, "monitor_canceled", &json!([DATABASE])).is_err());
    }
}
