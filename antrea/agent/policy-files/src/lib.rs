//! What the controller sent, in files, for an agent that starts while the controller is away.
//!
//! Each object is in a file of its own under `/var/run/antrea/networkpolicy`, which is as upstream's agent has it. The
//! folder is in memory and does not outlive the machine, so that nothing is synced to a disk: a file is whole because it
//! gets its name only once it is. A disk that is full or read-only stops nobody; what is to be written waits and is
//! tried again.
//!
//! An agent may be killed at any time, and files may be lost or damaged. So one more file, the seal, says which files there
//! are and what is in them. It is removed before what is enforced changes, and comes back when all is stored.

mod contents;
mod folder;
mod loaded;
#[cfg(test)]
mod tests;
mod wanted;

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antrea_agent_policy::{FileChange, FileName};
use antrea_kit::backoff::{Backoff, jitter};
use anyhow::Result;
use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use contents::{Contents, Extent};
use folder::Folder;
use wanted::Wanted;

pub use loaded::{Doubt, Loaded};

/// Where the files of this Node are.
pub const FOLDER: &str = "/var/run/antrea/networkpolicy";

/// The waits before what failed is tried again.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// How long policies wait for the seal to be removed.
const PATIENCE: Duration = Duration::from_secs(1);

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
    contents: Arc<Mutex<Contents>>,
    seal: Arc<Mutex<Seal>>,
    /// What is enforced may have changed, and not all of that is wanted yet.
    changing: Arc<AtomicBool>,
    more: Arc<Notify>,
    /// What became of what was to be done last, if anything was.
    stored: watch::Sender<Option<Stored>>,
}

/// Whether the folder is sealed. Who holds this may wait for a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Seal {
    /// It may be, by an earlier agent, or it is not.
    #[default]
    Unknown,
    /// It is.
    There,
}

impl FileStore {
    /// The files in a folder, which is made once something is to be kept.
    pub fn open(path: &Path) -> Self {
        Self {
            folder: Arc::new(Folder::new(path)),
            wanted: Arc::default(),
            contents: Arc::default(),
            seal: Arc::default(),
            changing: Arc::default(),
            more: Arc::default(),
            stored: watch::Sender::new(None),
        }
    }

    /// Whether the files say all that is enforced; nothing before anything was to be done.
    pub fn stored(&self) -> watch::Receiver<Option<Stored>> {
        self.stored.subscribe()
    }

    /// What was kept, and whether it is all; `noted` is what an earlier agent has noted elsewhere. Files that are damaged are
    /// left out.
    pub async fn load(&self, noted: Stored) -> Loaded {
        let store = self.clone();
        spawn_blocking(move || store.load_now(noted))
            .await
            .unwrap_or_else(|error| Loaded { objects: Vec::new(), doubts: vec![Doubt::NotRead(error)] })
    }

    fn load_now(&self, noted: Stored) -> Loaded {
        let (mut loaded, mut contents) = self.folder.load();
        if noted == Stored::NotAll {
            loaded.doubts.push(Doubt::Noted);
        }
        if loaded.doubts.is_empty() {
            contents.extent = Extent::All;
            *lock(&self.seal) = Seal::There;
        }
        *lock(&self.contents) = contents;
        loaded
    }

    /// What is enforced is about to change. Once this returns, agents that find the files know that they may not say all,
    /// until all that is given to `change` next is stored.
    ///
    /// # Errors
    /// The seal cannot be removed: it has to be noted elsewhere that files do not say all.
    pub async fn unseal(&self) -> io::Result<()> {
        if self.changing.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let store = self.clone();
        let unsealed = timeout(PATIENCE, spawn_blocking(move || store.unseal_now())).await;
        let unsealed = unsealed.map_err(io::Error::from).and_then(|ended| ended.map_err(io::Error::other)?);
        unsealed.inspect_err(|_| _ = self.stored.send_replace(Some(Stored::NotAll)))
    }

    fn unseal_now(&self) -> io::Result<()> {
        let mut seal = lock(&self.seal);
        match self.folder.unseal() {
            // Where it is known to be, something hides it.
            Err(error) if error.kind() == ErrorKind::NotFound && *seal == Seal::Unknown => {}
            unsealed => unsealed?,
        }
        *seal = Seal::Unknown;
        Ok(())
    }

    /// Has files written and removed, by who runs. With these all that has changed is told.
    pub fn change(&self, changes: Vec<FileChange>) {
        let any = !changes.is_empty();
        lock(&self.wanted).add(changes);
        if self.changing.swap(false, Ordering::SeqCst) || any {
            self.more.notify_one();
        }
    }

    /// Has all other files removed, by who runs. These are there, or given to `change`.
    pub fn keep_only(&self, files: &BTreeSet<FileName>) {
        lock(&self.wanted).keep_only(files);
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
        let store = self.clone();
        spawn_blocking(move || store.carry_out_now()).await.map_err(io::Error::other)?
    }

    fn carry_out_now(&self) -> io::Result<()> {
        let mut contents = lock(&self.contents);
        let mut taken = std::mem::take(&mut *lock(&self.wanted));
        let outcome = taken.carry_out(&self.folder, &mut contents);
        lock(&self.wanted).put_back(taken);
        outcome?;
        self.seal_now(&contents)
    }

    /// Seals the folder, if the files say all that is enforced.
    fn seal_now(&self, contents: &Contents) -> io::Result<()> {
        let mut seal = lock(&self.seal);
        // Whoever is about to change something waits for the seal, and removes it again.
        let changing = self.changing.load(Ordering::SeqCst) || !lock(&self.wanted).is_empty();
        if changing || contents.extent != Extent::All {
            return Ok(());
        }
        self.folder.seal(contents)?;
        *seal = Seal::There;
        self.stored.send_if_modified(|stored| stored.replace(Stored::All) != Some(Stored::All));
        Ok(())
    }
}

/// Each change of what is locked here leaves it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
