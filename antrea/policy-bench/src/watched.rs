//! The API server's store, and those who watch it: one watcher of everything a kind, and three for each Node.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use antrea_apiserver::SharedStore;
use antrea_apiserver::store::{Kind, Rounds, Selector, Watch};
use antrea_index::Index;
use antrea_policy::Update;
use anyhow::{Context, Result};
use tokio::runtime::{Builder, Runtime};

/// Updates that are handed over at once.
const BATCH: usize = 1024;

/// Batches that are ready before the store takes them.
const AHEAD: usize = 4;

/// A store with its watchers. They get events as values: nothing is encoded.
pub(crate) struct Watched {
    runtime: Runtime,
    store: SharedStore,
    received: Arc<AtomicU64>,
}

impl Watched {
    pub(crate) fn new(node_watchers: u32) -> Result<Self> {
        let runtime = Builder::new_current_thread().build().context("cannot make a runtime")?;
        let watched = Self { runtime, store: SharedStore::default(), received: Arc::default() };
        for kind in Kind::ALL {
            watched.watch(kind, Selector::default());
            let nodes = (0..node_watchers).map(crate::objects::node_name);
            nodes.for_each(|node| watched.watch(kind, Selector::node(&node)));
        }
        Ok(watched)
    }

    fn watch(&self, kind: Kind, selector: Selector) {
        let Watch { mut events, .. } = self.store.look(|store| store.watch(kind, selector, Rounds::Told));
        let received = Arc::clone(&self.received);
        self.runtime.spawn(async move {
            while let Some(event) = events.next().await {
                drop(black_box(event));
                received.fetch_add(1, Ordering::Relaxed);
            }
        });
    }

    /// Publishes updates, until the watchers have what they are told of them.
    pub(crate) fn publish(&self, updates: Vec<Update>) {
        self.runtime.block_on(async {
            self.store.publish(updates).await;
            let sent = self.store.look(|store| Kind::ALL.map(|kind| store.counts(kind).sent));
            while self.received.load(Ordering::Relaxed) < sent.iter().sum() {
                tokio::task::yield_now().await;
            }
        });
    }

    /// Publishes all that an index has to tell, in a thread beside the one that computes it.
    pub(crate) fn publish_all(&self, index: &mut Index) {
        let (sender, batches) = sync_channel::<Vec<Update>>(AHEAD);
        thread::scope(|scope| {
            scope.spawn(|| batches.into_iter().for_each(|batch| self.publish(batch)));
            let mut batch = Vec::with_capacity(BATCH);
            index.settle(|update| {
                batch.push(update);
                if batch.len() == BATCH {
                    // Nobody receives only when the process ends.
                    let _ = sender.send(std::mem::replace(&mut batch, Vec::with_capacity(BATCH)));
                }
            });
            let _ = sender.send(batch);
            drop(sender);
        });
    }

    /// Shows on standard error how many objects there are, and how many events there were.
    pub(crate) fn report(&self) {
        let objects = self.store.look(|store| Kind::ALL.map(|kind| (kind, store.len(kind))));
        eprintln!("{objects:?}, {} events", self.received.load(Ordering::Relaxed));
    }
}
