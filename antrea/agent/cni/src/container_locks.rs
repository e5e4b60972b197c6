//! One command at a time for each container.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedMutexGuard;

type Lock = Arc<tokio::sync::Mutex<()>>;

/// The locks of the containers that commands are running for; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContainerLocks(Arc<Mutex<BTreeMap<String, Lock>>>);

/// Keeps other commands for the container waiting until it is dropped.
pub(crate) struct ContainerGuard {
    locks: ContainerLocks,
    container_id: String,
    guard: Option<OwnedMutexGuard<()>>,
}

impl ContainerLocks {
    /// Waits until no other command runs for the container.
    pub(crate) async fn lock(&self, container_id: &str) -> ContainerGuard {
        let lock = Arc::clone(self.map().entry(container_id.to_owned()).or_default());
        let guard = Some(lock.lock_owned().await);
        ContainerGuard { locks: self.clone(), container_id: container_id.to_owned(), guard }
    }

    fn map(&self) -> MutexGuard<'_, BTreeMap<String, Lock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ContainerGuard {
    fn drop(&mut self) {
        let mut map = self.locks.map();
        // Released while nobody can take a new handle: a count of one means that nobody waits.
        self.guard = None;
        if map.get(&self.container_id).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            map.remove(&self.container_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_container_is_locked_for_one_command_and_others_are_not_concerned() {
        let locks = ContainerLocks::default();
        let first = locks.lock("a").await;
        assert!(locks.lock("a").now_or_never().is_none(), "the second one waits");
        drop(locks.lock("b").await);
        drop(first);
        drop(locks.lock("a").await);
        assert!(locks.map().is_empty(), "no lock is kept for a container that is gone");
    }
}
