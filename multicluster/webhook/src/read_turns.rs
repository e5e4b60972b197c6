//! Turns at reading what is large: a few at once, of which one source has a share.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// How many have a turn at the same time.
const AT_ONCE: usize = 8;
/// How many of these have the same source.
const OF_ONE_SOURCE: usize = 2;

/// Who asks, as far as it is known. Unlike those of connections, sources are single addresses also with IPv6: the Pods of a
/// Node, and the Node itself as its Pods see it, are in one /64, and are not to share.
type Source = Option<IpAddr>;

/// Who may read now.
#[derive(Debug)]
pub(crate) struct ReadTurns {
    all: Semaphore,
    /// Those of sources that have a turn or wait for one.
    shares: Mutex<BTreeMap<Source, Arc<Semaphore>>>,
}

/// A turn, which ends when this is dropped. The semaphores are never closed, and so both permits are there.
#[derive(Debug)]
pub(crate) struct ReadTurn<'a> {
    _of_all: Option<SemaphorePermit<'a>>,
    _of_source: Option<OwnedSemaphorePermit>,
}

impl ReadTurns {
    pub(crate) const fn new() -> Self {
        Self { all: Semaphore::const_new(AT_ONCE), shares: Mutex::new(BTreeMap::new()) }
    }

    /// Waits for a turn. Whoever waits for a share does not yet queue for a turn of all: before anybody's turn there are at
    /// most two of each other source.
    pub(crate) async fn take(&self, source: Source) -> ReadTurn<'_> {
        let of_source = self.share(source).acquire_owned().await.ok();
        let of_all = self.all.acquire().await.ok();
        ReadTurn { _of_all: of_all, _of_source: of_source }
    }

    fn share(&self, source: Source) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever has a turn or waits for one has a second reference, and gets it under this lock alone.
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        let share = shares.entry(source).or_insert_with(|| Arc::new(Semaphore::new(OF_ONE_SOURCE)));
        Arc::clone(share)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures::FutureExt;

    use super::*;

    fn host(number: u8) -> Source {
        Some(Ipv4Addr::new(10, 0, 0, number).into())
    }

    #[test]
    fn one_source_has_its_share_of_the_turns_at_most() {
        let turns = ReadTurns::new();
        let take = |number| turns.take(host(number)).now_or_never();
        let mut held: Vec<_> = [1, 1, 2, 2, 3, 3].map(|number| take(number).unwrap()).into();
        assert!(take(1).is_none(), "it has its share");
        held.extend([take(4).unwrap(), turns.take(None).now_or_never().unwrap()]);
        assert!(take(5).is_none(), "all turns are taken");
        held.remove(0);
        assert!(take(5).is_some());
        assert!(take(1).is_some());
    }

    #[test]
    fn sources_that_are_done_are_forgotten() {
        let turns = ReadTurns::new();
        for number in 0..100 {
            assert!(turns.take(host(number)).now_or_never().is_some());
        }
        assert_eq!(turns.shares.lock().unwrap().len(), 1);
    }
}
