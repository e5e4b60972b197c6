//! Counts of what the index does, so that tests can tell that work is proportional to change.

use std::sync::atomic::{AtomicU64, Ordering};

/// What was done since the index was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Selectors compared with a set of labels.
    pub matches: u64,
    /// Members looked at, to tell of them or of what became of them.
    pub members: u64,
    /// Nodes of spans looked at, to count who is on them.
    pub nodes: u64,
}

/// Counts by one writer at a time: whoever changes the index has it alone, and what readers count does not matter.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    matches: AtomicU64,
    members: AtomicU64,
    nodes: AtomicU64,
}

impl Counter {
    pub(crate) fn matched(&self) {
        add(&self.matches, 1);
    }

    pub(crate) fn touched(&self, members: usize) {
        add(&self.members, members as u64);
    }

    pub(crate) fn spanned(&self, nodes: usize) {
        add(&self.nodes, nodes as u64);
    }

    pub(crate) fn read(&self) -> Work {
        let [matches, members, nodes] =
            [&self.matches, &self.members, &self.nodes].map(|counter| counter.load(Ordering::Relaxed));
        Work { matches, members, nodes }
    }
}

/// Cheaper than an atomic addition, which nobody needs here.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}
