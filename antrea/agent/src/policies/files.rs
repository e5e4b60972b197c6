//! The files, kept in line with what is known of policies, and the note for agents that could not trust them.

use std::collections::BTreeSet;
use std::time::Duration;

use antrea_agent_policy::{RuleCache, Watch};
use antrea_agent_policy_files::{FileStore, Loaded, Stored};
use antrea_kit::logging::chain;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::warn;

use super::notes::Notes;

/// How long policies wait for a note.
const PATIENCE: Duration = Duration::from_secs(1);

/// The files, and what is noted of them.
pub(crate) struct PolicyFiles {
    pub(super) store: FileStore,
    notes: Notes,
    stored: watch::Receiver<Option<Stored>>,
    /// What is to be noted, once that is known.
    note: Option<Stored>,
    /// Watches that have begun since files were compared with what there is.
    begun: BTreeSet<Watch>,
}

impl PolicyFiles {
    pub(super) fn new(store: FileStore, notes: Notes) -> Self {
        let stored = store.stored();
        Self { store, notes, stored, note: None, begun: BTreeSet::new() }
    }

    /// What an earlier agent has stored.
    pub(super) async fn load(&self) -> Loaded {
        self.store.load(self.notes.stored()).await
    }

    /// Policies are about to change: once this returns, a later agent knows that files may not say so.
    pub(super) async fn unseal(&mut self) {
        let Err(error) = self.store.unseal().await else { return };
        if self.note.replace(Stored::NotAll) != Some(Stored::NotAll) {
            warn!(%error, "Stored policies cannot be marked as old; OVSDB has a note of it");
        }
        self.keep_note().await;
    }

    /// A watch has begun, which will say what there is.
    pub(super) fn begin(&mut self, watch: Watch) {
        self.begun.insert(watch);
    }

    /// Has all that is known stored.
    pub(super) fn store(&mut self, cache: &mut RuleCache) {
        if cache.is_current() && !std::mem::take(&mut self.begun).is_empty() {
            self.store.keep_only(&cache.files());
        }
        self.store.change(cache.take_file_changes());
    }

    /// Waits until all is stored again, or is not any more.
    pub(super) async fn changed(&mut self) {
        // Never the last one: it is kept here.
        let _ = self.stored.changed().await;
    }

    /// Notes that all is stored, if it is.
    pub(super) async fn note_stored(&mut self) {
        if *self.stored.borrow_and_update() == Some(Stored::All) {
            self.note = Some(Stored::All);
            self.keep_note().await;
        }
    }

    /// Notes what is to be noted, unless it is already.
    pub(super) async fn keep_note(&self) {
        let Some(stored) = self.note else { return };
        let noted = timeout(PATIENCE, self.notes.note_stored(stored)).await;
        let problem = match noted {
            Ok(Ok(())) => return,
            Ok(Err(error)) => chain(&error),
            Err(error) => error.to_string(),
        };
        warn!(problem, "Whether policies are stored cannot be noted; trying again");
    }
}
