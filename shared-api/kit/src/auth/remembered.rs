//! What the API server decided, remembered for a while, and never too much of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How many decisions of a kind are remembered.
const MOST: usize = 4096;

/// How long decisions hold.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    /// Those that let somebody in, which may be taken back any time.
    pub accepted: Duration,
    /// Those that keep somebody out: a right that was just given counts soon.
    pub refused: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self { accepted: Duration::from_secs(10), refused: Duration::from_secs(2) }
    }
}

/// Decisions by what was decided on.
#[derive(Debug)]
pub(super) struct Remembered<K, V> {
    most: usize,
    decisions: BTreeMap<K, (Instant, V)>,
}

impl<K: Ord + Clone, V: Clone> Default for Remembered<K, V> {
    fn default() -> Self {
        Self::at_most(MOST)
    }
}

impl<K: Ord + Clone, V: Clone> Remembered<K, V> {
    const fn at_most(most: usize) -> Self {
        Self { most, decisions: BTreeMap::new() }
    }

    /// What was decided, while it holds.
    pub(super) fn get(&self, key: &K, now: Instant) -> Option<V> {
        self.decisions.get(key).filter(|(until, _)| now < *until).map(|(_, decision)| decision.clone())
    }

    /// Remembers a decision. Where there are too many, the one that would be forgotten first goes.
    pub(super) fn insert(&mut self, key: K, decision: V, until: Instant, now: Instant) {
        if self.decisions.len() >= self.most && !self.decisions.contains_key(&key) {
            self.decisions.retain(|_, (until, _)| now < *until);
        }
        if self.decisions.len() >= self.most && !self.decisions.contains_key(&key) {
            let first =
                self.decisions.iter().min_by_key(|(_, (until, _))| *until).map(|(key, _)| key.clone());
            first.and_then(|key| self.decisions.remove(&key));
        }
        self.decisions.insert(key, (until, decision));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_decision_holds_until_its_time_is_over() {
        let (mut remembered, now) = (Remembered::default(), Instant::now());
        remembered.insert("a", true, now + SECOND, now);
        assert_eq!(remembered.get(&"a", now), Some(true));
        assert_eq!(remembered.get(&"a", now + SECOND), None);
        assert_eq!(remembered.get(&"b", now), None);
    }

    #[test]
    fn there_are_never_more_than_the_limit() {
        let (mut remembered, now) = (Remembered::at_most(3), Instant::now());
        for (index, key) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
            let until = now + SECOND * (10 - u32::try_from(index).unwrap());
            remembered.insert(key, index, until, now);
        }
        assert_eq!(remembered.decisions.len(), 3);
        assert_eq!(remembered.get(&"e", now), Some(4), "what is new is remembered");
        assert_eq!(remembered.get(&"d", now), None, "what would have gone first went");
    }

    #[test]
    fn what_no_longer_holds_makes_room_first() {
        let (mut remembered, now) = (Remembered::at_most(2), Instant::now());
        remembered.insert("old", 0, now + SECOND, now);
        remembered.insert("a", 1, now + SECOND * 5, now);
        remembered.insert("b", 2, now + SECOND * 9, now + SECOND * 2);
        assert_eq!(remembered.get(&"a", now + SECOND * 2), Some(1));
    }
}
