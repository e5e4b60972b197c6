//! The one owner of all flows, groups and meters of a bridge.

mod plan;
mod realize;

use std::sync::{Arc, Weak};
use std::time::Duration;

use antrea_openflow::TableId;
use tokio::sync::{Mutex, watch};
use tracing::{info, warn};

use plan::Plan;

use crate::backoff::Backoff;
use crate::flow_store::{FlowSet, FlowStore};
use crate::openflow::{Channel, Connection, OpenFlowError};
use crate::round::Round;
use crate::store::SetKey;

const FIRST_RETRY: Duration = Duration::from_millis(250);
const SLOWEST_RETRY: Duration = Duration::from_secs(10);

/// A handle on what a bridge shall have. What is asked of it is remembered, installed in bundles, and installed again
/// as a whole whenever the connection to the switch comes back, after which nothing else of this round is left.
#[derive(Debug, Clone)]
pub struct Switch {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    connection: Connection,
    round: Round,
    tables: Vec<(TableId, String)>,
    /// Held while the switch is changed, so that it sees changes in the order in which they are remembered.
    wanted: Mutex<Wanted>,
    /// The generation of the connection over which everything was installed; 0 while there is none.
    realized: watch::Sender<u64>,
}

/// What the bridge shall have.
#[derive(Debug)]
struct Wanted {
    store: FlowStore,
    leftovers: Leftovers,
}

/// Groups and meters that nobody asked for. They carry no round: until all of this round has been asked for, flows of
/// earlier rounds may use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leftovers {
    Kept,
    Deleted,
}

/// How far a change has come.
enum Applied {
    Installed,
    /// It will be with everything else, over a connection later than this one.
    After(u64),
}

impl Switch {
    /// Takes over the bridge behind a connection: flows carry `round`, tables get these names.
    pub fn new(connection: Connection, round: Round, tables: Vec<(TableId, String)>) -> Self {
        let wanted = Mutex::new(Wanted { store: FlowStore::new(round), leftovers: Leftovers::Kept });
        let realized = watch::Sender::new(0);
        let inner = Arc::new(Inner { connection, round, tables, wanted, realized });
        tokio::spawn(keep_realized(Arc::downgrade(&inner), inner.connection.channel()));
        Self { inner }
    }

    /// The connection, for what is not about flows, groups and meters.
    pub fn connection(&self) -> &Connection {
        &self.inner.connection
    }

    /// The round of the flows.
    pub fn round(&self) -> Round {
        self.inner.round
    }

    /// Replaces a set, and returns when the switch has it; changes of up to 10,000 flows and groups happen at once.
    /// While the switch is away this waits. Whoever stops waiting does not take back what was asked for.
    ///
    /// # Errors
    /// [`OpenFlowError::Refused`] when the switch refuses a member: then the set is what it was before.
    pub async fn apply(&self, key: impl Into<SetKey>, set: impl Into<FlowSet>) -> Result<(), OpenFlowError> {
        let (inner, key, set) = (Arc::clone(&self.inner), key.into(), set.into());
        // A task of its own, because store and switch must not part company when the caller stops waiting.
        let change = tokio::spawn(async move { inner.change(&key, set).await });
        match change.await.map_err(|_| OpenFlowError::ConnectionLost)?? {
            Applied::Installed => Ok(()),
            Applied::After(generation) => self.realized_after(generation).await,
        }
    }

    /// Removes a set. As [`Self::apply`].
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub async fn remove(&self, key: impl Into<SetKey>) -> Result<(), OpenFlowError> {
        self.apply(key, FlowSet::default()).await
    }

    /// What a set holds, cookies with their round.
    pub async fn get(&self, key: impl Into<SetKey>) -> FlowSet {
        self.inner.wanted.lock().await.store.get(&key.into())
    }

    /// Waits until there is a connection over which everything that was asked for is installed.
    ///
    /// # Errors
    /// [`OpenFlowError::ConnectionLost`] when the connection is closed for good.
    pub async fn realized(&self) -> Result<(), OpenFlowError> {
        let channel = self.inner.connection.connected().await?;
        self.realized_after(channel.generation() - 1).await
    }

    /// Compares the switch with what was asked for, and puts right what differs.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn resync(&self) -> Result<(), OpenFlowError> {
        let channel = self.inner.connection.current()?;
        self.inner.realize(&channel).await
    }

    /// Deletes what earlier rounds left: flows of round `previous`, or of every other round where that is not known,
    /// and groups and meters that nobody asked for. To be called when everything of this round has been asked for.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn delete_stale(&self, previous: Option<Round>) -> Result<(), OpenFlowError> {
        self.realized().await?;
        let mut wanted = self.inner.wanted.lock().await;
        let channel = self.inner.connection.current()?;
        realize::delete_stale_flows(&channel, self.inner.round, previous).await?;
        // From now on also whenever everything is installed again.
        wanted.leftovers = Leftovers::Deleted;
        realize::delete_leftovers(&channel, &wanted.store).await
    }

    async fn realized_after(&self, generation: u64) -> Result<(), OpenFlowError> {
        let mut realized = self.inner.realized.subscribe();
        let later = realized.wait_for(|realized| *realized > generation).await;
        later.map(|_| ()).map_err(|_| OpenFlowError::ConnectionLost)
    }
}

impl Inner {
    /// Remembers a set and installs what it changes, if the switch has everything else.
    async fn change(&self, key: &SetKey, set: FlowSet) -> Result<Applied, OpenFlowError> {
        let mut wanted = self.wanted.lock().await;
        let store = &mut wanted.store;
        let before = store.get(key);
        let changes = store.set(key, set);
        let realized = *self.realized.borrow();
        let channel = match self.connection.current() {
            Ok(channel) if channel.generation() == realized => channel,
            _ => return Ok(Applied::After(realized)),
        };
        if changes.is_empty() {
            return Ok(Applied::Installed);
        }
        match realize::carry_out(&channel, Plan::of(changes)).await {
            Ok(()) => Ok(Applied::Installed),
            Err(OpenFlowError::ConnectionLost) => Ok(Applied::After(realized)),
            Err(error) => {
                let undo = Plan::of(store.set(key, before));
                // Bundles before the one that was refused may have changed something.
                if let Err(error) = realize::carry_out(&channel, undo).await {
                    warn!(%key, error = &error as &dyn std::error::Error, "Cannot take back a refused change");
                }
                Err(error)
            }
        }
    }

    /// Brings everything to the switch.
    async fn realize(&self, channel: &Channel) -> Result<(), OpenFlowError> {
        let wanted = self.wanted.lock().await;
        let count = realize::everything(channel, &wanted.store, self.round, &self.tables).await?;
        if wanted.leftovers == Leftovers::Deleted {
            realize::delete_leftovers(channel, &wanted.store).await?;
        }
        self.realized.send_replace(channel.generation());
        info!(generation = channel.generation(), members = count, "Flows, groups and meters are installed");
        Ok(())
    }
}

/// Brings everything to the switch whenever there is a new connection, until the last handle is gone.
async fn keep_realized(inner: Weak<Inner>, mut channel: watch::Receiver<Option<Channel>>) {
    let mut backoff = Backoff::new(FIRST_RETRY, SLOWEST_RETRY);
    loop {
        let current = channel.borrow_and_update().clone();
        if let Some(current) = current {
            let Some(inner) = inner.upgrade() else { return };
            match inner.realize(&current).await {
                Ok(()) => backoff.reset(),
                Err(error) => {
                    warn!(error = &error as &dyn std::error::Error, "Cannot install flows");
                    drop(inner);
                    backoff.wait().await;
                    channel.mark_changed();
                }
            }
        }
        if channel.changed().await.is_err() {
            return;
        }
    }
}
