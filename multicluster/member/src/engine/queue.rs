//! Subjects that are to be looked at: first come, first served, each once at a time. While there is more to do than an
//! API server can take, all of them wait alike, and what changes meanwhile is sent with one request.

use std::collections::{BTreeSet, VecDeque};

/// Subjects that wait.
#[derive(Debug)]
pub(super) struct Queue<S> {
    order: VecDeque<S>,
    all: BTreeSet<S>,
}

impl<S> Default for Queue<S> {
    fn default() -> Self {
        Self { order: VecDeque::new(), all: BTreeSet::new() }
    }
}

impl<S: Clone + Ord> Queue<S> {
    /// A subject is to be looked at; one that waits already keeps its place.
    pub(super) fn add(&mut self, subject: S) {
        if self.all.insert(subject.clone()) {
            self.order.push_back(subject);
        }
    }

    /// The first that can be looked at now. It does not wait any more.
    pub(super) fn take(&mut self, can: impl Fn(&S) -> bool) -> Option<S> {
        let place = self.order.iter().position(can)?;
        let subject = self.order.remove(place)?;
        self.all.remove(&subject);
        Some(subject)
    }

    /// All that wait.
    pub(super) const fn all(&self) -> &BTreeSet<S> {
        &self.all
    }
}

impl<S: Clone + Ord> Extend<S> for Queue<S> {
    fn extend<I: IntoIterator<Item = S>>(&mut self, subjects: I) {
        subjects.into_iter().for_each(|subject| self.add(subject));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_comes_first_is_served_first_and_once() {
        let mut queue = Queue::default();
        queue.extend(["web", "api", "web"]);
        assert_eq!(queue.take(|_| true), Some("web"));
        queue.add("web");
        queue.add("api");
        assert_eq!(queue.take(|_| true), Some("api"), "it was there before web came again");
        assert_eq!((queue.take(|_| true), queue.take(|_| true)), (Some("web"), None));
    }

    #[test]
    fn whoever_cannot_be_served_keeps_its_place() {
        let mut queue = Queue::default();
        queue.extend(["busy", "a", "b"]);
        assert_eq!(queue.take(|subject| *subject != "busy"), Some("a"));
        assert_eq!(queue.all(), &BTreeSet::from(["b", "busy"]));
        assert_eq!(queue.take(|_| true), Some("busy"));
    }
}
