//! The handle on the database.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::connection::{Link, Request, Task};
use super::error::OvsDbError;
use super::snapshot::Snapshot;
use super::transaction::Transaction;

/// How long an answer, or ovs-vswitchd, is waited for. Healthy ones take milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Requests that may wait for the server; more have to wait for room.
const QUEUE: usize = 256;

/// A handle on the database; clones share one connection, which ends with the last of them.
#[derive(Debug, Clone)]
pub struct OvsDb {
    path: PathBuf,
    requests: mpsc::Sender<Request>,
    snapshot: watch::Receiver<Arc<Snapshot>>,
    link: watch::Receiver<Link>,
}

impl OvsDb {
    /// Connects to the server at that unix socket, and waits, however long it takes, until the whole database is
    /// known. Whoever wants to wait less long cancels this.
    pub async fn connect(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let (requests, receiver) = mpsc::channel(QUEUE);
        let (snapshot_sender, snapshot) = watch::channel(Arc::default());
        let (link_sender, link) = watch::channel(Link::Down);
        let task =
            Task { path: path.clone(), requests: receiver, snapshot: snapshot_sender, link: link_sender };
        tokio::spawn(task.run());
        let mut database = Self { path, requests, snapshot, link };
        // The task ends only after the handle.
        let _ = database.link.wait_for(|link| *link == Link::Up).await;
        database
    }

    /// The server's socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The database as the server described it last.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.borrow())
    }

    /// Sees every change of the database, intermediate ones left out when they come faster than they are looked at.
    pub fn changed(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshot.clone()
    }

    /// Sees whether the server is there.
    pub fn link(&self) -> watch::Receiver<Link> {
        self.link.clone()
    }

    /// Carries out a transaction, and returns the results of its operations. By then the copy includes its changes:
    /// the server sends updates before the reply.
    ///
    /// # Errors
    /// [`OvsDbError::Refused`] and [`OvsDbError::NoAnswer`], by which nothing happened or may yet happen; after
    /// [`OvsDbError::ConnectionLost`] it happened or not.
    pub async fn transact(&self, transaction: Transaction) -> Result<Vec<Value>, OvsDbError> {
        let answer = async {
            let (reply, results) = oneshot::channel();
            let request = Request { transaction, reply };
            self.requests.send(request).await.map_err(|_| OvsDbError::ConnectionLost)?;
            Ok(results.await.map_err(|_| OvsDbError::ConnectionLost)??)
        };
        let none = |_| OvsDbError::NoAnswer { path: self.path.clone(), waited: PATIENCE };
        timeout(PATIENCE, answer).await.map_err(none)?
    }

    /// Carries out a transaction, and waits until ovs-vswitchd has acted on it.
    ///
    /// # Errors
    /// As [`Self::transact`], and [`OvsDbError::NotTakenUp`] when ovs-vswitchd does not act.
    pub async fn transact_and_settle(&self, transaction: Transaction, what: &str) -> Result<(), OvsDbError> {
        let results = self.transact(transaction.next_configuration()).await?;
        let wanted = Transaction::configuration_of(&results).ok_or(OvsDbError::NotInitialised)?;
        self.wait_for(what, |snapshot| {
            snapshot.open_vswitch().filter(|row| row.cur_cfg >= wanted).map(|_| ())
        })
        .await
    }

    /// Waits until `look` finds in the database what it looks for.
    ///
    /// # Errors
    /// [`OvsDbError::NotTakenUp`] when it does not in time.
    pub(crate) async fn wait_for<T>(
        &self,
        what: &str,
        mut look: impl FnMut(&Snapshot) -> Option<T>,
    ) -> Result<T, OvsDbError> {
        let mut changed = self.snapshot.clone();
        let found = async {
            loop {
                if let Some(found) = look(&changed.borrow_and_update()) {
                    return Ok(found);
                }
                changed.changed().await.map_err(|_| OvsDbError::ConnectionLost)?;
            }
        };
        let late = |_| OvsDbError::NotTakenUp { what: what.to_owned(), waited: PATIENCE };
        timeout(PATIENCE, found).await.map_err(late)?
    }
}
