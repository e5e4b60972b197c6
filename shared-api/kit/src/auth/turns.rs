//! Turns at asking the API server: a few questions at once, and a bounded number that wait. Whoever asks too much is told to
//! come again, instead of keeping others waiting.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard};
use tokio::time::timeout;

/// How many questions are asked at once: whoever asks many waits, and does not keep the API server busy.
const AT_ONCE: usize = 8;

/// Nobody has a turn soon.
#[derive(Debug, thiserror::Error)]
#[error("too many wait to be answered by the API server")]
pub struct Busy;

/// Who may ask now. `K` tells apart who asks.
#[derive(Debug)]
pub(super) struct Turns<K: Ord + Clone> {
    /// The same question is asked once at a time: it has its turn in one of them.
    lanes: [AsyncMutex<()>; AT_ONCE],
    bounds: Bounds,
    waiting: Mutex<Waiting<K>>,
}

/// How many may wait, and how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// All together.
    pub(super) most: usize,
    /// Of the same asker.
    pub(super) share: usize,
    /// How long one may wait.
    pub(super) patience: Duration,
}

#[derive(Debug)]
struct Waiting<K> {
    all: usize,
    by_asker: BTreeMap<K, usize>,
}

/// A turn, which ends when this is dropped.
pub(super) struct Turn<'a, K: Ord + Clone> {
    _lane: Option<AsyncMutexGuard<'a, ()>>,
    _place: Place<'a, K>,
}

/// A place among those who wait or have their turn, until this is dropped.
pub(super) struct Place<'a, K: Ord + Clone> {
    turns: &'a Turns<K>,
    asker: K,
}

impl<K: Ord + Clone> Turns<K> {
    pub(super) fn new(bounds: Bounds) -> Self {
        let lanes = std::array::from_fn(|_| AsyncMutex::default());
        Self { lanes, bounds, waiting: Mutex::new(Waiting { all: 0, by_asker: BTreeMap::new() }) }
    }

    /// Waits for a turn at a question, which has the same number whenever it is asked.
    ///
    /// # Errors
    /// When too many wait already, or it takes too long.
    pub(super) async fn take(&self, question: u64, asker: K) -> Result<Turn<'_, K>, Busy> {
        let place = self.enter(asker).ok_or(Busy)?;
        let number = usize::try_from(question % AT_ONCE as u64).unwrap_or_default();
        let lane = match self.lanes.get(number) {
            Some(lane) => Some(timeout(self.bounds.patience, lane.lock()).await.map_err(|_| Busy)?),
            None => None,
        };
        Ok(Turn { _lane: lane, _place: place })
    }

    /// A place without a turn; none when too many wait already.
    pub(super) fn enter(&self, asker: K) -> Option<Place<'_, K>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let of_asker = waiting.by_asker.get(&asker).copied().unwrap_or_default();
        if waiting.all >= self.bounds.most || of_asker >= self.bounds.share {
            return None;
        }
        waiting.all += 1;
        waiting.by_asker.insert(asker.clone(), of_asker + 1);
        Some(Place { turns: self, asker })
    }
}

impl<K: Ord + Clone> Drop for Place<'_, K> {
    fn drop(&mut self) {
        let mut waiting = self.turns.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.all -= 1;
        let of_asker = waiting.by_asker.remove(&self.asker).unwrap_or_default();
        if of_asker > 1 {
            waiting.by_asker.insert(self.asker.clone(), of_asker - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LATE: Duration = Duration::from_secs(3600);

    fn turns(most: usize, share: usize, patience: Duration) -> Turns<&'static str> {
        Turns::new(Bounds { most, share, patience })
    }

    #[tokio::test]
    async fn the_same_question_is_asked_once_at_a_time_and_others_meanwhile() {
        let turns = turns(8, 4, SOON);
        let first = turns.take(0, "a").await;
        assert!(first.is_ok() && turns.take(1, "a").await.is_ok());
        assert!(turns.take(8, "a").await.is_err(), "it waited for too long");
        drop(first);
        assert!(turns.take(8, "a").await.is_ok());
    }

    #[tokio::test]
    async fn one_asker_takes_its_share_of_the_places_at_most() {
        let turns = turns(4, 2, LATE);
        let mut held = Vec::new();
        for question in 0..2 {
            held.push(turns.take(question, "a").await.unwrap());
        }
        assert!(turns.take(2, "a").await.is_err());
        for (question, asker) in [(3, "b"), (4, "c")] {
            held.push(turns.take(question, asker).await.unwrap());
        }
        assert!(turns.take(5, "d").await.is_err(), "all places are taken");
        held.clear();
        let waiting = turns.waiting.lock().unwrap();
        assert_eq!((waiting.all, waiting.by_asker.len()), (0, 0));
    }
}
