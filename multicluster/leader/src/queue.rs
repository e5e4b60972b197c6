//! What is to be looked at, and when: each object at most once at a time, again later after a failure, and nothing while
//! the API server is in trouble.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use antrea_kit::backoff::Backoff;

use crate::action::Task;

/// Requests that are under way at once.
const PARALLEL: usize = 16;

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The object is refused; others may not be.
    Object,
    /// The API server is away or overloaded.
    Server,
}

/// Objects that wait, and those under way.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    waiting: BTreeSet<Task>,
    busy: BTreeSet<Task>,
    /// Objects that failed, and when they are tried again.
    failed: BTreeMap<Task, (Backoff, Instant)>,
    /// When the API server is asked again that was in trouble.
    pause: (Backoff, Option<Instant>),
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            waiting: BTreeSet::new(),
            busy: BTreeSet::new(),
            failed: BTreeMap::new(),
            pause: (Backoff::new(Duration::from_millis(500), Duration::from_secs(10)), None),
        }
    }
}

impl Queue {
    /// These are to be looked at.
    pub(crate) fn add(&mut self, tasks: impl IntoIterator<Item = Task>) {
        self.waiting.extend(tasks);
    }

    /// The most urgent object that can be looked at now; it is under way until it has succeeded or failed.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Task> {
        if self.busy.len() >= PARALLEL || self.pause.1.is_some_and(|until| until > now) {
            return None;
        }
        let is_due = |task: &Task| self.failed.get(task).is_none_or(|(_, at)| *at <= now);
        let task = self.waiting.iter().find(|task| !self.busy.contains(*task) && is_due(task))?.clone();
        self.waiting.remove(&task);
        self.busy.insert(task.clone());
        Some(task)
    }

    /// The object is as it should be.
    pub(crate) fn succeeded(&mut self, task: &Task) {
        self.busy.remove(task);
        self.failed.remove(task);
    }

    /// The API server answered.
    pub(crate) fn answered(&mut self) {
        self.pause.0.reset();
        self.pause.1 = None;
    }

    /// The object has to be looked at again, later each time. Whether the failure is news.
    pub(crate) fn failed(&mut self, task: &Task, failure: Failure, now: Instant, jitter: f64) -> bool {
        self.busy.remove(task);
        self.waiting.insert(task.clone());
        match failure {
            Failure::Object => {
                let first = || (Backoff::new(Duration::from_millis(200), Duration::from_secs(30)), now);
                let (backoff, at) = self.failed.entry(task.clone()).or_insert_with(first);
                let news = backoff.is_fresh();
                *at = now + backoff.wait(jitter);
                news
            }
            // What was under way when the trouble began does not make the pause longer.
            Failure::Server if self.pause.1.is_some_and(|until| until > now) => false,
            Failure::Server => {
                let news = self.pause.0.is_fresh();
                self.pause.1 = Some(now + self.pause.0.wait(jitter));
                news
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn import(name: &str) -> Task {
        Task::Import(name.to_owned())
    }

    fn queue(tasks: &[Task]) -> (Queue, Instant) {
        let mut queue = Queue::default();
        queue.add(tasks.iter().cloned());
        (queue, Instant::now())
    }

    #[test]
    fn imports_come_before_what_is_said_to_exporters() {
        let export = Task::Export("a".to_owned());
        let (mut queue, now) = queue(&[export.clone(), import("z")]);
        assert_eq!(queue.next(now), Some(import("z")));
        assert_eq!(queue.next(now), Some(export));
        assert_eq!(queue.next(now), None);
    }

    #[test]
    fn an_object_is_under_way_once() {
        let (mut queue, now) = queue(&[import("a")]);
        queue.next(now);
        queue.add([import("a")]);
        assert_eq!(queue.next(now), None);
        queue.succeeded(&import("a"));
        assert_eq!(queue.next(now), Some(import("a")), "what came meanwhile is not lost");
    }

    #[test]
    fn an_object_that_is_refused_waits_longer_each_time_and_delays_no_other() {
        let (mut queue, now) = queue(&[import("a"), import("b")]);
        queue.next(now);
        assert!(queue.failed(&import("a"), Failure::Object, now, 1.0));
        assert_eq!(queue.next(now), Some(import("b")));
        queue.add([import("a")]);
        assert_eq!(queue.next(now + SECOND / 10), None, "an event does not shorten the wait");
        assert_eq!(queue.next(now + SECOND / 5), Some(import("a")));
        assert!(!queue.failed(&import("a"), Failure::Object, now, 1.0));
        assert_eq!(queue.next(now + SECOND / 5), None, "it waits longer");
    }

    #[test]
    fn an_api_server_in_trouble_is_left_alone() {
        let (mut queue, now) = queue(&[import("a"), import("b"), import("c")]);
        queue.next(now);
        queue.next(now);
        assert!(queue.failed(&import("a"), Failure::Server, now, 1.0));
        assert!(!queue.failed(&import("b"), Failure::Server, now, 1.0));
        assert_eq!(queue.next(now), None);
        assert_eq!(queue.next(now + SECOND / 2), Some(import("a")));
        queue.answered();
        assert_eq!(queue.next(now), Some(import("b")));
    }
}
