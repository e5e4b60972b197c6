//! Turns at asking the API server: a few questions at once, and a bounded number that wait. Whoever asks too much is told to
//! come again, instead of keeping others waiting.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard};
use tokio::time::timeout;

use crate::slots::Source;

/// How many questions are asked at once: whoever asks many waits, and does not keep the API server busy.
const AT_ONCE: usize = 8;

/// Nobody has a turn soon.
#[derive(Debug, thiserror::Error)]
#[error("too many wait to be answered by the API server")]
pub struct Busy;

/// Who may ask now.
#[derive(Debug)]
pub(super) struct Turns {
    /// The same question is asked once at a time: it has its turn in one of them.
    lanes: [AsyncMutex<()>; AT_ONCE],
    /// How many may wait, and half of them from one source.
    most: usize,
    /// How long one may wait.
    patience: Duration,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    all: usize,
    by_source: BTreeMap<Option<Source>, usize>,
}

/// A turn, which ends when this is dropped.
pub(super) struct Turn<'a> {
    _lane: Option<AsyncMutexGuard<'a, ()>>,
    _place: Place<'a>,
}

/// A place among those who wait or have their turn.
struct Place<'a> {
    turns: &'a Turns,
    source: Option<Source>,
}

impl Turns {
    pub(super) fn new(most: usize, patience: Duration) -> Self {
        let lanes = std::array::from_fn(|_| AsyncMutex::default());
        Self { lanes, most, patience, waiting: Mutex::default() }
    }

    /// Waits for a turn at a question, which has the same number whenever it is asked.
    ///
    /// # Errors
    /// When too many wait already, or it takes too long.
    pub(super) async fn take(&self, question: u64, source: Option<Source>) -> Result<Turn<'_>, Busy> {
        let place = self.enter(source).ok_or(Busy)?;
        let number = usize::try_from(question % AT_ONCE as u64).unwrap_or_default();
        let lane = match self.lanes.get(number) {
            Some(lane) => Some(timeout(self.patience, lane.lock()).await.map_err(|_| Busy)?),
            None => None,
        };
        Ok(Turn { _lane: lane, _place: place })
    }

    fn enter(&self, source: Option<Source>) -> Option<Place<'_>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let of_source = waiting.by_source.get(&source).copied().unwrap_or_default();
        if waiting.all >= self.most || of_source >= self.most.div_ceil(2) {
            return None;
        }
        waiting.all += 1;
        waiting.by_source.insert(source, of_source + 1);
        Some(Place { turns: self, source })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut waiting = self.turns.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.all -= 1;
        let of_source = waiting.by_source.remove(&self.source).unwrap_or_default();
        if of_source > 1 {
            waiting.by_source.insert(self.source, of_source - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LATE: Duration = Duration::from_secs(3600);

    fn from(host: u8) -> Option<Source> {
        Some(Source::of([10, 0, 0, host].into()))
    }

    #[tokio::test]
    async fn the_same_question_is_asked_once_at_a_time_and_others_meanwhile() {
        let turns = Turns::new(8, SOON);
        let first = turns.take(0, from(1)).await;
        assert!(first.is_ok() && turns.take(1, from(1)).await.is_ok());
        assert!(turns.take(8, from(1)).await.is_err(), "it waited for too long");
        drop(first);
        assert!(turns.take(8, from(1)).await.is_ok());
    }

    #[tokio::test]
    async fn one_source_takes_half_of_the_places_at_most() {
        let turns = Turns::new(4, LATE);
        let mut held = Vec::new();
        for question in 0..2 {
            held.push(turns.take(question, from(1)).await.unwrap());
        }
        assert!(turns.take(2, from(1)).await.is_err());
        for (question, host) in [(3, 2), (4, 3)] {
            held.push(turns.take(question, from(host)).await.unwrap());
        }
        assert!(turns.take(5, from(4)).await.is_err(), "all places are taken");
        held.clear();
        let waiting = turns.waiting.lock().unwrap();
        assert_eq!((waiting.all, waiting.by_source.len()), (0, 0));
    }
}
