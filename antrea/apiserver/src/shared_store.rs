//! The store that a process has: what computes policies publishes to it, requests watch it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antrea_policy::Update;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::yield_now;
use tokio::time::Instant;
use tracing::info;

use crate::store::{Kind, Rounds, Selector, Store, Watch};

/// How many updates are taken in before others get a look at the store: far fewer than wait for a watcher at most.
const BATCH: usize = 1024;

/// A store that tasks share. Copies are the same.
#[derive(Clone, Default)]
pub struct SharedStore(Arc<Shared>);

#[derive(Default)]
struct Shared {
    store: Mutex<Store>,
    /// Held while a round is published: nobody begins to watch in the middle of one.
    publishing: AsyncMutex<()>,
    /// Whether something is missing in it that agents must not do without.
    is_filling: AtomicBool,
}

/// A watch that ends when this is dropped.
pub(crate) struct Subscription {
    pub(crate) watch: Watch,
    /// How many events it began with that were not given back yet.
    begun_with: usize,
    kind: Kind,
    store: SharedStore,
}

impl SharedStore {
    /// One that nobody can ask before it is [`filled`](Self::filled): whoever took a part for the whole would let through
    /// what the rest denies.
    pub fn filling() -> Self {
        let shared = Shared { is_filling: AtomicBool::new(true), ..Shared::default() };
        Self(Arc::new(shared))
    }

    /// All that there is has been published.
    pub fn filled(&self) {
        self.0.is_filling.store(false, Ordering::Release);
    }

    /// Whether something is still missing.
    pub fn is_filling(&self) -> bool {
        self.0.is_filling.load(Ordering::Acquire)
    }

    /// Takes in what changed together. It waits for nobody who watches: whoever does not read in time is cut, and has to
    /// begin anew.
    pub async fn publish(&self, updates: Vec<Update>) {
        let _publishing = self.0.publishing.lock().await;
        let cut_before = self.cut();
        self.cut_late();
        let mut updates = updates.into_iter().peekable();
        while updates.peek().is_some() {
            self.take_in(updates.by_ref().take(BATCH));
            yield_now().await;
        }
        self.lock().end_round();
        self.cut_late();
        let watchers = self.cut() - cut_before;
        if watchers > 0 {
            info!(watchers, "Disconnected watchers that read too slowly");
        }
    }

    fn take_in(&self, updates: impl Iterator<Item = Update>) {
        let mut store = self.lock();
        updates.for_each(|update| store.apply(update));
    }

    fn cut_late(&self) {
        self.lock().cut_late(Instant::now().into_std());
    }

    /// How many watchers were ever cut.
    fn cut(&self) -> u64 {
        let store = self.lock();
        Kind::ALL.map(|kind| store.counts(kind).cut).iter().sum()
    }

    /// Looks at the store.
    pub fn look<T>(&self, look: impl FnOnce(&mut Store) -> T) -> T {
        look(&mut self.lock())
    }

    pub(crate) async fn subscribe(&self, kind: Kind, selector: Selector, rounds: Rounds) -> Subscription {
        let _between_rounds = self.0.publishing.lock().await;
        let watch = self.lock().watch(kind, selector, rounds);
        Subscription { begun_with: watch.snapshot.len(), watch, kind, store: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        // What one object's update leaves behind is whole for all others.
        self.0.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// Nobody has the events of its snapshot any more.
    pub(crate) fn give_back(&mut self) {
        self.watch.snapshot = Vec::new();
        let count = std::mem::take(&mut self.begun_with);
        if count > 0 {
            self.store.lock().give_back(self.kind, count);
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.give_back();
        self.store.lock().unwatch(self.kind, self.watch.id);
    }
}
