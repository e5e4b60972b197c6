//! Transactions: operations that happen together or not at all (RFC 7047 §4.1.3 and §5.2).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::monitor::DATABASE;

/// A row that an operation is about.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// The row of that name; Bridge, Port and Interface have unique ones.
    Named(&'a str),
    /// Every row: for the one row of table Open_vSwitch.
    All,
}

impl Target<'_> {
    fn condition(self) -> Value {
        match self {
            Self::Named(name) => json!([["name", "==", name]]),
            Self::All => json!([]),
        }
    }
}

/// Operations in the order in which the server carries them out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transaction {
    operations: Vec<Value>,
}

impl Transaction {
    /// A transaction that explains itself in the database's log (RFC 7047 §5.2.9).
    pub fn new(comment: impl Into<String>) -> Self {
        let comment: String = comment.into();
        Self { operations: vec![json!({"op": "comment", "comment": format!("antrea: {comment}")})] }
    }

    /// Adds a row, to which other operations refer as `name` (RFC 7047 §5.2.1).
    #[must_use]
    pub fn insert(self, table: &str, name: &str, row: Map<String, Value>) -> Self {
        self.operation(json!({"op": "insert", "table": table, "uuid-name": name, "row": Value::Object(row)}))
    }

    /// Overwrites columns of a row (RFC 7047 §5.2.3).
    #[must_use]
    pub fn update(self, table: &str, target: Target<'_>, columns: Map<String, Value>) -> Self {
        self.operation(json!({"op": "update", "table": table, "where": target.condition(), "row": Value::Object(columns)}))
    }

    /// Changes columns of a row by `[column, mutator, value]` (RFC 7047 §5.1, `<mutation>`).
    #[must_use]
    pub fn mutate(self, table: &str, target: Target<'_>, mutations: &[Value]) -> Self {
        let condition = target.condition();
        self.operation(json!({"op": "mutate", "table": table, "where": condition, "mutations": mutations}))
    }

    /// Lets the transaction fail unless there is a row of that name (RFC 7047 §5.2.6, without waiting).
    #[must_use]
    pub fn require(self, table: &str, name: &str) -> Self {
        let condition = Target::Named(name).condition();
        let rows = json!([{"name": name}]);
        self.operation(json!({
            "op": "wait", "timeout": 0, "table": table, "where": condition,
            "columns": ["name"], "until": "==", "rows": rows,
        }))
    }

    /// Lets the transaction fail when the table has a row (RFC 7047 §5.2.6, without waiting).
    #[must_use]
    pub fn require_empty(self, table: &str) -> Self {
        self.operation(json!({
            "op": "wait", "timeout": 0, "table": table, "where": [],
            "columns": ["_uuid"], "until": "==", "rows": [],
        }))
    }

    /// Counts up the configuration that ovs-vswitchd is asked for, and reads it: it comes last in the result.
    #[must_use]
    pub(crate) fn next_configuration(self) -> Self {
        self.mutate(DATABASE, Target::All, &[json!(["next_cfg", "+=", 1])]).operation(json!({
            "op": "select", "table": DATABASE, "where": [], "columns": ["next_cfg"],
        }))
    }

    /// The number that [`Self::next_configuration`] read.
    pub(crate) fn configuration_of(results: &[Value]) -> Option<i64> {
        results.last()?.pointer("/rows/0/next_cfg")?.as_i64()
    }

    fn operation(mut self, operation: Value) -> Self {
        self.operations.push(operation);
        self
    }

    /// The parameters of the request.
    pub(crate) fn params(&self) -> Value {
        let database = std::iter::once(json!(DATABASE));
        Value::Array(database.chain(self.operations.iter().cloned()).collect())
    }

    /// The results of the operations, or the first error among them. The server stops at an operation that fails;
    /// an error behind the last operation is about the transaction as a whole.
    pub(crate) fn results(&self, reply: Value) -> Result<Vec<Value>, TransactionError> {
        let Value::Array(results) = reply else {
            return Err(TransactionError::new("malformed reply", &reply.to_string(), None));
        };
        for (position, result) in results.iter().enumerate() {
            if let Some(error) = result.get("error").and_then(Value::as_str) {
                let details = result.get("details").and_then(Value::as_str).unwrap_or_default();
                return Err(TransactionError::new(error, details, self.operations.get(position)));
            }
        }
        Ok(results)
    }
}

/// A reference to a row that the same transaction inserts.
pub fn named(name: &str) -> Value {
    json!(["named-uuid", name])
}

/// A set of values (RFC 7047 §5.1, `<set>`).
pub fn set<T: Into<Value>>(values: impl IntoIterator<Item = T>) -> Value {
    json!(["set", values.into_iter().map(Into::into).collect::<Vec<Value>>()])
}

/// A map of strings (RFC 7047 §5.1, `<map>`).
pub fn map(pairs: &BTreeMap<String, String>) -> Value {
    json!(["map", pairs.iter().collect::<Vec<_>>()])
}

/// Why the server refused a transaction (RFC 7047 §3.1 and §5.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusedBecause {
    /// A value or a pair of rows breaks the schema, such as two ports of one name.
    ConstraintViolation,
    /// A row refers to one that is not there.
    ReferentialIntegrityViolation,
    /// What the transaction requires is not so.
    RequirementNotMet,
    /// The server's own problem, such as a full disk; or one of another kind.
    Other(String),
}

/// A transaction that the server refused; nothing of it happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("OVSDB refused {operation}: {error}{}{details}", if details.is_empty() { "" } else { ": " })]
pub struct TransactionError {
    /// The reason.
    pub reason: RefusedBecause,
    error: String,
    details: String,
    operation: String,
}

impl TransactionError {
    pub(crate) fn new(error: &str, details: &str, operation: Option<&Value>) -> Self {
        let reason = match error {
            "constraint violation" => RefusedBecause::ConstraintViolation,
            "referential integrity violation" => RefusedBecause::ReferentialIntegrityViolation,
            "timed out" => RefusedBecause::RequirementNotMet,
            other => RefusedBecause::Other(other.to_owned()),
        };
        let text = |operation: &Value, key| {
            operation.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let operation = operation.map_or_else(
            || "the transaction".to_owned(),
            |operation| format!("operation {} on table {}", text(operation, "op"), text(operation, "table")),
        );
        Self { reason, error: error.to_owned(), details: details.to_owned(), operation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ovsdb::uuid::Uuid;

    #[test]
    fn a_transaction_lists_its_operations_after_the_database() {
        let transaction = Transaction::new("removes port a").mutate(
            "Bridge",
            Target::Named("br-int"),
            &[json!(["ports", "delete", Uuid::ZERO.reference()])],
        );
        assert_eq!(
            transaction.params().to_string(),
            concat!(
                r#"["Open_vSwitch",{"op":"comment","comment":"antrea: removes port a"},"#,
                r#"{"op":"mutate","table":"Bridge","where":[["name","==","br-int"]],"#,
                r#""mutations":[["ports","delete",["uuid","00000000-0000-0000-0000-000000000000"]]]}]"#
            )
        );
    }

    #[test]
    fn sets_and_maps_are_tagged() {
        assert_eq!(set(["a", "b"]).to_string(), r#"["set",["a","b"]]"#);
        let pairs = BTreeMap::from([("antrea-type".to_owned(), "gateway".to_owned())]);
        assert_eq!(map(&pairs).to_string(), r#"["map",[["antrea-type","gateway"]]]"#);
    }

    #[track_caller]
    fn check_refused(reply: Value, reason: RefusedBecause, text: &str) {
        let transaction = Transaction::new("test").require("Bridge", "br-int");
        let error = transaction.results(reply).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.reason), (text, reason));
    }

    #[test]
    fn refusals_name_the_operation_and_the_reason() {
        check_refused(
            json!([{}, {"error": "timed out", "details": "\"wait\" timed out"}]),
            RefusedBecause::RequirementNotMet,
            "OVSDB refused operation wait on table Bridge: timed out: \"wait\" timed out",
        );
        check_refused(
            json!([{}, {}, {"error": "constraint violation"}]),
            RefusedBecause::ConstraintViolation,
            "OVSDB refused the transaction: constraint violation",
        );
    }

    #[test]
    fn the_configuration_number_is_the_last_result() {
        let results = [json!({"count": 1}), json!({"rows": [{"next_cfg": 7}]})];
        assert_eq!(Transaction::configuration_of(&results), Some(7));
        assert_eq!(Transaction::configuration_of(&[]), None);
    }
}
