//! Withdrawals wait a moment: what is deleted by hand and kept by somebody else comes back at once, and nobody is to
//! lose a Service, its address or a route for that.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::area::Tick;
use crate::objects::{Change, Key, Objects, is_leaving};

/// How long what has gone counts as if it had not.
const PATIENCE: Duration = Duration::from_secs(2);

/// The objects that have gone just now, by what is made of them, and until when nothing follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withdrawals<S>(BTreeMap<S, BTreeMap<Key, Duration>>);

impl<S> Default for Withdrawals<S> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<S: Clone + Ord> Withdrawals<S> {
    /// Takes in at `now` a change of an object that `subject` is made of.
    pub fn learned(&mut self, subject: S, objects: &Objects, change: &Change, now: Duration) {
        let is_there = objects.get(&change.key).is_some_and(|object| !is_leaving(object));
        if !is_there && change.before.is_some() {
            self.0.entry(subject).or_default().entry(change.key.clone()).or_insert(now + PATIENCE);
        } else if let Some(gone) = self.0.get_mut(&subject) {
            gone.remove(&change.key);
            if gone.is_empty() {
                self.0.remove(&subject);
            }
        }
    }

    /// Whether something that `subject` is made of may come back.
    pub fn is_held(&self, subject: &S) -> bool {
        self.0.contains_key(subject)
    }

    /// Gives up at `now` what has not come back.
    pub fn tick(&mut self, now: Duration) -> Tick<S> {
        let mut changed = Vec::new();
        self.0.retain(|subject, gone| {
            gone.retain(|_, until| *until > now);
            if gone.is_empty() {
                changed.push(subject.clone());
            }
            !gone.is_empty()
        });
        Tick { again: self.0.values().flat_map(BTreeMap::values).min().copied(), changed }
    }
}
