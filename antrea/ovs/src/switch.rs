//! The one owner of all flows, groups and meters of a bridge.

mod difference;
mod left_out;
mod marks;
mod owed;
mod plan;
mod realize;
mod together;
mod wanted;

use std::sync::{Arc, Weak};
use std::time::Duration;

use antrea_openflow::TableId;
use tokio::sync::{Mutex, oneshot, watch};
use tracing::{info, warn};

use difference::Rounds;
use together::{Job, Waiting, Wish};
use wanted::{Leftovers, Wanted};

use crate::backoff::Backoff;
use crate::flow_store::{FlowChanges, FlowEdit, FlowSet, Members, pack_edits};
use crate::openflow::{Channel, Connection, OpenFlowError};
use crate::round::Round;
use crate::store::SetKey;

const FIRST_RETRY: Duration = Duration::from_millis(250);
const SLOWEST_RETRY: Duration = Duration::from_secs(10);
/// How often the switch is compared with what was asked for: others can change it, too, and OVS deletes all flows of a
/// bridge whose `fail_mode` changes while the connection stays.
const CHECK: Duration = Duration::from_secs(30);

/// A handle on what a bridge shall have. What is asked of it is remembered, installed in bundles, and compared with
/// what is there whenever the connection to the switch comes back, and from time to time: what differs is put right.
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
    waiting: Waiting,
    /// The generation of the last connection over which everything was installed; 0 before the first.
    realized: watch::Sender<u64>,
    /// Told whenever the switch was changed.
    changed: watch::Sender<()>,
}

/// How far a change has come.
#[derive(Debug)]
enum Applied {
    Installed,
    /// It will be with everything else, over a connection later than this one.
    After(u64),
}

impl Switch {
    /// Takes over the bridge behind a connection: flows carry `round`, tables get these names.
    pub fn new(connection: Connection, round: Round, tables: Vec<(TableId, String)>) -> Self {
        Self::checked_every(CHECK, connection, round, tables)
    }

    /// The same with another time between comparisons.
    pub fn checked_every(
        period: Duration,
        connection: Connection,
        round: Round,
        tables: Vec<(TableId, String)>,
    ) -> Self {
        let wanted = Mutex::new(Wanted::new(round));
        let inner = Arc::new(Inner {
            connection,
            round,
            tables,
            wanted,
            waiting: Waiting::default(),
            realized: watch::Sender::new(0),
            changed: watch::Sender::default(),
        });
        tokio::spawn(keep_realized(Arc::downgrade(&inner), inner.connection.channel(), period));
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
    /// [`OpenFlowError::Refused`] or [`OpenFlowError::TooLong`] when the switch does not take a member: then the set
    /// is what it was before. Where the switch was away, and where it had refused a member of the set when all was
    /// installed, the set stays what was asked for, without that member; this is tried again, also by itself.
    pub async fn apply(&self, key: impl Into<SetKey>, set: impl Into<FlowSet>) -> Result<(), OpenFlowError> {
        self.ask(key, set).done().await
    }

    /// Asks for a set and does not wait for it. The set is packed at once: who asks for many, one after the other, has
    /// one of them as values, and those that are asked for at the same time go into few bundles.
    pub fn ask(&self, key: impl Into<SetKey>, set: impl Into<FlowSet>) -> Asked {
        self.wish(key.into(), Wish::Replace(Members::pack(set.into(), self.inner.round)))
    }

    /// Changes flows of a set in this order, and does not wait for it. Up to 10,000 flows change at once; of more, those that
    /// come first change first. What was asked for stays asked for: of what the switch refuses, the rest is there, and it is
    /// tried again as the members of [`Self::apply`] are.
    pub fn edit(&self, key: impl Into<SetKey>, edits: Vec<FlowEdit>) -> Asked {
        self.wish(key.into(), Wish::Edit(pack_edits(edits, self.inner.round)))
    }

    fn wish(&self, key: SetKey, wish: Wish) -> Asked {
        let inner = Arc::clone(&self.inner);
        let (reply, applied) = oneshot::channel();
        let asked = Asked { switch: self.clone(), key: key.clone(), applied };
        if inner.waiting.push(Job { key, wish, reply }) {
            // A task of its own, because store and switch must not part company when the caller stops waiting.
            tokio::spawn(async move { inner.work_off().await });
        }
        asked
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

    /// Whether a set has been asked for and the switch, once all is installed, refused no member of it.
    pub async fn has(&self, key: impl Into<SetKey>) -> bool {
        self.inner.wanted.lock().await.has(&key.into())
    }

    /// Those of these sets that [`Self::has`] says no to.
    pub async fn missing(&self, keys: impl IntoIterator<Item = SetKey>) -> Vec<SetKey> {
        let wanted = self.inner.wanted.lock().await;
        keys.into_iter().filter(|key| !wanted.has(key)).collect()
    }

    /// Those of these sets that nobody has asked for or claimed, whatever the switch said of them.
    pub async fn unasked(&self, keys: impl IntoIterator<Item = SetKey>) -> Vec<SetKey> {
        let wanted = self.inner.wanted.lock().await;
        keys.into_iter().filter(|key| !(wanted.store.has(key) || wanted.owed.has(key))).collect()
    }

    /// Says what sets will hold that nobody could ask for yet: what an earlier round has in their place stays until somebody
    /// does, or others are claimed.
    pub async fn claim(&self, sets: impl IntoIterator<Item = (SetKey, FlowSet)>) {
        let mut wanted = self.inner.wanted.lock().await;
        let sets = sets.into_iter().filter(|(key, _)| !wanted.store.has(key));
        let sets = sets.map(|(key, set)| (key, Members::pack(set, self.inner.round))).collect();
        wanted.owed.claim(sets);
    }

    /// Waits until there is a connection over which everything that was asked for is installed.
    ///
    /// # Errors
    /// [`OpenFlowError::ConnectionLost`] when the connection is closed for good.
    pub async fn realized(&self) -> Result<(), OpenFlowError> {
        let channel = self.inner.connection.connected().await?;
        self.realized_after(channel.generation() - 1).await
    }

    /// Tells of changes of flows and groups, after the switch has made them: at least one has been made since the last was seen.
    pub fn changed(&self) -> watch::Receiver<()> {
        self.inner.changed.subscribe()
    }

    /// Whether there is a connection over which everything was installed. What is on its way does not count.
    pub fn is_realized(&self) -> bool {
        let current = self.inner.connection.current();
        current.is_ok_and(|channel| channel.generation() == *self.inner.realized.borrow())
    }

    /// Compares the switch with what was asked for, puts right what differs, and returns how much that was.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn resync(&self) -> Result<usize, OpenFlowError> {
        let channel = self.inner.connection.current()?;
        self.inner.realize(&channel).await
    }

    /// Deletes what is left of earlier rounds, and of an earlier start of this one: flows of round `previous`, or of
    /// every other round where that is not known, and flows, groups and meters that nobody asked for. To be called
    /// when everything of this round has been asked for or claimed. While the switch is away this waits. What the switch has
    /// learned stays, for flows that learn give it a cookie without a round; and so does what those are to replace that it
    /// refuses, or that are claimed. Returns how many flows that are.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn delete_stale(&self, previous: Option<Round>) -> Result<usize, OpenFlowError> {
        loop {
            let channel = self.inner.connection.connected().await?;
            self.realized_after(channel.generation() - 1).await?;
            match self.inner.delete_stale(&channel, previous).await {
                Err(OpenFlowError::ConnectionLost) => self.realized_after(channel.generation()).await?,
                outcome => return outcome,
            }
        }
    }

    async fn realized_after(&self, generation: u64) -> Result<(), OpenFlowError> {
        let mut realized = self.inner.realized.subscribe();
        let later = realized.wait_for(|realized| *realized > generation).await;
        later.map(|_| ()).map_err(|_| OpenFlowError::ConnectionLost)
    }
}

/// A set that was asked for.
#[derive(Debug)]
#[must_use = "whether the switch takes the set is known only when it is done"]
pub struct Asked {
    switch: Switch,
    key: SetKey,
    applied: oneshot::Receiver<Result<Applied, OpenFlowError>>,
}

impl Asked {
    /// Waits until the switch has the set.
    ///
    /// # Errors
    /// As [`Switch::apply`].
    pub async fn done(self) -> Result<(), OpenFlowError> {
        match self.applied.await.map_err(|_| OpenFlowError::ConnectionLost)?? {
            Applied::Installed => Ok(()),
            Applied::After(generation) => {
                self.switch.realized_after(generation).await?;
                self.switch.inner.wanted.lock().await.refusal(&self.key)
            }
        }
    }
}

impl Inner {
    /// Brings everything to the switch, and returns how much that changed.
    async fn realize(&self, channel: &Channel) -> Result<usize, OpenFlowError> {
        let mut wanted = self.wanted.lock().await;
        let outcome = wanted.settle(channel, FlowChanges::default()).await;
        // Of what failed a part may be there.
        if !matches!(outcome, Ok(0)) {
            self.changed.send_replace(());
        }
        let changes = outcome?;
        let generation = channel.generation();
        if *self.realized.borrow() != generation {
            if let Err(error) = channel.rename_tables(&self.tables).await {
                warn!(error = &error as &dyn std::error::Error, "Tables have no names");
            }
            info!(generation, changes, "Flows, groups and meters are installed");
        } else if changes > 0 {
            warn!(changes, "The switch was not as it should be: flows, groups and meters are put right");
        }
        self.realized.send_replace(generation);
        Ok(changes)
    }

    async fn delete_stale(&self, channel: &Channel, previous: Option<Round>) -> Result<usize, OpenFlowError> {
        let mut wanted = self.wanted.lock().await;
        // From now on also whenever everything is installed again.
        wanted.leftovers = Leftovers::Deleted;
        let outcome = wanted.settle_rounds(channel, Rounds::All { stale: previous }).await;
        self.changed.send_replace(());
        outcome.map(|_| wanted.kept_flows)
    }
}

/// Brings everything to the switch whenever there is a new connection, and each `period`, until the last handle is gone.
async fn keep_realized(inner: Weak<Inner>, mut channel: watch::Receiver<Option<Channel>>, period: Duration) {
    let mut backoff = Backoff::new(FIRST_RETRY, SLOWEST_RETRY);
    loop {
        let mut wait = period;
        let current = channel.borrow_and_update().clone();
        if let Some(current) = current {
            let Some(inner) = inner.upgrade() else { return };
            match inner.realize(&current).await {
                Ok(_) => backoff.reset(),
                Err(error) => {
                    warn!(error = &error as &dyn std::error::Error, "Cannot install flows");
                    wait = backoff.delay();
                }
            }
        }
        tokio::select! {
            changed = channel.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(wait) => {}
        }
    }
}
