//! What the controller sent, in files, for an agent that starts while the controller is away.
//!
//! Each object is in a file of its own under `/var/run/antrea/networkpolicy`, which is as upstream's agent has it. The
//! folder is in memory and does not outlive the machine, so that nothing is synced to a disk: a file is whole because it
//! gets its name only once it is. A disk that is full or read-only stops nobody; what is to be written waits and is
//! tried again.

mod folder;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antrea_agent_policy::{FileChange, FileName, StoredObject};
use antrea_kit::backoff::{Backoff, jitter};
use anyhow::Result;
use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use folder::Folder;

/// Where the files of this Node are.
pub const FOLDER: &str = "/var/run/antrea/networkpolicy";

/// The waits before what failed is tried again.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Whether the files say all that is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// They do.
    All,
    /// Something could not be written: they may say what was so before.
    NotAll,
}

/// The files. Copies are the same.
#[derive(Clone)]
pub struct FileStore {
    folder: Arc<Folder>,
    wanted: Arc<Mutex<Wanted>>,
    more: Arc<Notify>,
    /// What became of what was to be done last, if anything was.
    stored: watch::Sender<Option<Stored>>,
}

/// What is to be done. Of each file the last word counts, so that it never grows beyond what there is to keep.
#[derive(Debug, Default)]
struct Wanted {
    /// All other files are to go, before any is written.
    only: Option<BTreeSet<FileName>>,
    /// The content that files are to have, or that they are not to be.
    files: BTreeMap<FileName, Option<Vec<u8>>>,
}

impl FileStore {
    /// The files in a folder, which is made once something is to be kept.
    pub fn open(path: &Path) -> Self {
        let folder = Arc::new(Folder::new(path));
        Self { folder, wanted: Arc::default(), more: Arc::default(), stored: watch::Sender::new(None) }
    }

    /// Whether the files say all that is enforced; nothing before anything was to be done.
    pub fn stored(&self) -> watch::Receiver<Option<Stored>> {
        self.stored.subscribe()
    }

    /// What was kept. Files that are damaged are left out, and removed.
    pub async fn load(&self) -> Vec<StoredObject> {
        let folder = Arc::clone(&self.folder);
        match spawn_blocking(move || folder.load()).await {
            Ok(objects) => objects,
            Err(error) => {
                warn!(%error, "Stored policies could not be read");
                Vec::new()
            }
        }
    }

    /// Has files written and removed, by who runs.
    pub fn change(&self, changes: Vec<FileChange>) {
        self.wanted().add(changes);
        self.more.notify_one();
    }

    /// Has all other files removed, by who runs.
    pub fn keep_only(&self, files: &BTreeSet<FileName>) {
        self.wanted().keep_only(files);
        self.more.notify_one();
    }

    /// Does what is to be done, until `stop` and then once more.
    ///
    /// # Errors
    /// Never: what fails is tried again. The type is that of a component.
    pub async fn run(self, stop: CancellationToken) -> Result<()> {
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        while stop.run_until_cancelled(self.more.notified()).await.is_some() {
            while let Err(error) = self.carry_out().await {
                self.stored.send_replace(Some(Stored::NotAll));
                if backoff.is_fresh() {
                    warn!(%error, folder = %self.folder.path().display(), "Policies cannot be stored; they are enforced all the same");
                }
                if stop.run_until_cancelled(sleep(backoff.wait(jitter()))).await.is_none() {
                    break;
                }
            }
            if stop.is_cancelled() {
                break;
            }
            self.stored.send_replace(Some(Stored::All));
            if !backoff.is_fresh() {
                info!("Policies are stored again");
                backoff.reset();
            }
        }
        // Whoever starts next does without what cannot be stored.
        let _ = self.carry_out().await;
        Ok(())
    }

    /// Does all there is to do; what failed is still to be done afterwards.
    async fn carry_out(&self) -> io::Result<()> {
        let folder = Arc::clone(&self.folder);
        let mut taken = std::mem::take(&mut *self.wanted());
        let (left, outcome) = spawn_blocking(move || {
            let outcome = taken.carry_out(&folder);
            (taken, outcome)
        })
        .await
        .map_err(io::Error::other)?;
        self.wanted().put_back(left);
        outcome
    }

    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        // Each change leaves it whole.
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wanted {
    fn add(&mut self, changes: Vec<FileChange>) {
        for change in changes {
            let (name, content) = match change {
                FileChange::Write(name, content) => (name, Some(content)),
                FileChange::Remove(name) => (name, None),
            };
            self.set(name, content);
        }
    }

    fn set(&mut self, name: FileName, content: Option<Vec<u8>>) {
        if let (Some(only), Some(_)) = (&mut self.only, &content) {
            only.insert(name.clone());
        }
        self.files.insert(name, content);
    }

    fn keep_only(&mut self, files: &BTreeSet<FileName>) {
        self.files.retain(|name, _| files.contains(name));
        self.only = Some(files.clone());
    }

    /// Does what can be done, and forgets it. The first error is told.
    fn carry_out(&mut self, folder: &Folder) -> io::Result<()> {
        let mut outcome = Ok(());
        if let Some(only) = self.only.take() {
            outcome = folder.keep_only(&only);
            self.only = outcome.is_err().then_some(only);
        }
        self.files.retain(|name, content| {
            let done = match content {
                Some(content) => folder.write(name, content),
                None => folder.remove(name),
            };
            let failed = done.is_err();
            if outcome.is_ok() {
                outcome = done;
            }
            failed
        });
        outcome
    }

    /// What was taken and could not be done is to be done still, unless something else is wanted since.
    fn put_back(&mut self, left: Self) {
        let newer = std::mem::replace(self, left);
        if let Some(only) = &newer.only {
            self.keep_only(only);
        }
        newer.files.into_iter().for_each(|(name, content)| self.set(name, content));
    }
}
