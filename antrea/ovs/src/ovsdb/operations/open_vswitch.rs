//! The configuration of the whole switch.

use std::collections::BTreeMap;

use serde_json::{Map, json};

use super::{Complete, missing, put};
use crate::ovsdb::client::OvsDb;
use crate::ovsdb::error::OvsDbError;
use crate::ovsdb::monitor::DATABASE;
use crate::ovsdb::snapshot::Snapshot;
use crate::ovsdb::transaction::{Target, Transaction, set};

impl OvsDb {
    /// Gives a database that was just created its one row in table Open_vSwitch, as `ovs-vsctl init` does.
    ///
    /// # Errors
    /// What [`OvsDb::transact`] returns.
    pub async fn init(&self) -> Result<(), OvsDbError> {
        let plan = |snapshot: &Snapshot| {
            let create = || {
                Transaction::new("initialises the database").require_empty(DATABASE).insert(
                    DATABASE,
                    "switch",
                    Map::new(),
                )
            };
            Ok(snapshot.open_vswitch().is_none().then(create))
        };
        self.reconcile("the database", Complete::Written, plan).await
    }

    /// The version of ovs-vswitchd, where whoever started it wrote it into the database.
    pub fn ovs_version(&self) -> Option<String> {
        self.snapshot().open_vswitch()?.ovs_version.clone()
    }

    /// Tells which version of ovs-vswitchd there is: that is left to whoever starts it.
    ///
    /// # Errors
    /// See [`OvsDbError`].
    pub async fn set_ovs_version(&self, version: &str) -> Result<(), OvsDbError> {
        let plan = |snapshot: &Snapshot| {
            let row = snapshot.open_vswitch().ok_or(OvsDbError::NotInitialised)?;
            let column = || Map::from_iter([("ovs_version".to_owned(), json!(version))]);
            let change = || Transaction::new("sets ovs_version").update(DATABASE, Target::All, column());
            Ok((row.ovs_version.as_deref() != Some(version)).then(change))
        };
        self.reconcile("ovs_version", Complete::Written, plan).await
    }

    /// Sets one of the switch's settings, such as `flow-restore-wait`. ovs-vswitchd need not run: it takes settings up
    /// when it starts.
    ///
    /// # Errors
    /// See [`OvsDbError`].
    pub async fn set_open_vswitch_other_config(&self, key: &str, value: &str) -> Result<(), OvsDbError> {
        let wanted = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let plan = |snapshot: &Snapshot| {
            let row = snapshot.open_vswitch().ok_or(OvsDbError::NotInitialised)?;
            let missing = missing(&wanted, &row.other_config);
            let change = || {
                Transaction::new(format!("sets {key}")).mutate(
                    DATABASE,
                    Target::All,
                    &put("other_config", &missing),
                )
            };
            Ok((!missing.is_empty()).then(change))
        };
        self.reconcile(&format!("other_config:{key}"), Complete::Written, plan).await
    }

    /// Removes one of the switch's settings, and waits until ovs-vswitchd has taken it up.
    ///
    /// # Errors
    /// See [`OvsDbError`].
    pub async fn remove_open_vswitch_other_config(&self, key: &str) -> Result<(), OvsDbError> {
        let plan = |snapshot: &Snapshot| {
            let row = snapshot.open_vswitch().ok_or(OvsDbError::NotInitialised)?;
            let remove = || {
                let mutation = json!(["other_config", "delete", set([key])]);
                Transaction::new(format!("removes {key}")).mutate(DATABASE, Target::All, &[mutation])
            };
            Ok(row.other_config.contains_key(key).then(remove))
        };
        self.reconcile(&format!("the removal of other_config:{key}"), Complete::TakenUp, plan).await
    }
}
