//! What the agent does with the database. Everything here can be repeated at will.

mod bridge;
mod open_vswitch;
mod port;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::OvsDb;
use super::error::OvsDbError;
use super::snapshot::Snapshot;
use super::transaction::{RefusedBecause, Transaction, map, set};

/// How often an operation looks again before it gives up.
const ATTEMPTS: usize = 5;

/// When an operation is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Complete {
    /// When the database says so.
    Written,
    /// When ovs-vswitchd has acted on it.
    TakenUp,
}

impl OvsDb {
    /// Brings about what `plan` wants: it looks at the current state and returns what is left to do.
    async fn reconcile(
        &self,
        what: &str,
        complete: Complete,
        plan: impl Fn(&Snapshot) -> Result<Option<Transaction>, OvsDbError>,
    ) -> Result<(), OvsDbError> {
        let mut attempt = 1;
        loop {
            let snapshot = self.snapshot();
            let result = match (plan(&snapshot)?, complete) {
                (Some(transaction), Complete::Written) => self.transact(transaction).await.map(|_| ()),
                (Some(transaction), Complete::TakenUp) => self.transact_and_settle(transaction, what).await,
                (None, Complete::Written) => Ok(()),
                (None, Complete::TakenUp) => self.settle(&snapshot, what).await,
            };
            match result {
                Err(error) if attempt < ATTEMPTS && worth_another_look(&error) => attempt += 1,
                result => return result,
            }
        }
    }

    /// Waits until ovs-vswitchd has acted on all that was asked of it at that moment.
    async fn settle(&self, snapshot: &Snapshot, what: &str) -> Result<(), OvsDbError> {
        let wanted = snapshot.open_vswitch().ok_or(OvsDbError::NotInitialised)?.next_cfg;
        self.wait_for(what, |now| now.open_vswitch().filter(|row| row.cur_cfg >= wanted).map(|_| ())).await
    }
}

/// Whether a look at the current state tells how to go on: the connection was lost half way, or somebody else did
/// the same at the same moment.
fn worth_another_look(error: &OvsDbError) -> bool {
    match error {
        OvsDbError::ConnectionLost => true,
        OvsDbError::Refused(error) => {
            matches!(error.reason, RefusedBecause::ConstraintViolation | RefusedBecause::RequirementNotMet)
        }
        _ => false,
    }
}

/// The pairs of `wanted` that `present` has not.
fn missing(
    wanted: &BTreeMap<String, String>,
    present: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let differs = |(key, value): &(&String, &String)| present.get(*key) != Some(*value);
    wanted.iter().filter(differs).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Mutations that set pairs of a map and leave the others alone: inserting does not overwrite (RFC 7047 §5.1).
fn put(column: &str, pairs: &BTreeMap<String, String>) -> [Value; 2] {
    [json!([column, "delete", set(pairs.keys().cloned())]), json!([column, "insert", map(pairs)])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_that_differ_are_missing() {
        let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let missing = missing(
            &pairs(&[("a", "1"), ("b", "2"), ("c", "3")]),
            &pairs(&[("a", "1"), ("b", "0"), ("d", "4")]),
        );
        assert_eq!(missing, pairs(&[("b", "2"), ("c", "3")]));
    }
}
