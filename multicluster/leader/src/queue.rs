//! What is to be looked at, and when: each object at most once at a time, in the order in which they came, again later
//! after a failure, and nothing while the API server is in trouble.
//!
//! Members wait for imports. Exporters are answered after these, and once for all that changed until then.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use antrea_kit::backoff::Backoff;

use crate::action::Task;

/// Requests that are under way at once.
const PARALLEL: usize = 16;
/// As many of them answer exporters, so that imports which come meanwhile find the API server free.
const ANSWERS: usize = 2;
/// How long an answer waits for imports that are being written: both cost the API server as much.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a request is good for; the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// All members wait for it.
    Import,
    /// It says who is a member.
    Membership,
    /// It tells an exporter what became of its export.
    Answer,
}

impl Urgency {
    const fn of(task: &Task) -> Self {
        match task {
            Task::Import(_) => Self::Import,
            Task::ClusterSet(_) | Task::Announce(_) => Self::Membership,
            Task::Export(_) => Self::Answer,
        }
    }
}

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
    /// They stand in line, by the numbers that they drew, and since when.
    line: BTreeMap<(Urgency, u64), (Task, Instant)>,
    drawn: u64,
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
            line: BTreeMap::new(),
            drawn: 0,
            busy: BTreeSet::new(),
            failed: BTreeMap::new(),
            pause: (Backoff::new(Duration::from_millis(500), Duration::from_secs(10)), None),
        }
    }
}

impl Queue {
    /// These are to be looked at.
    pub(crate) fn add(&mut self, tasks: impl IntoIterator<Item = Task>, now: Instant) {
        for task in tasks {
            if self.waiting.insert(task.clone()) {
                self.drawn += 1;
                self.line.insert((Urgency::of(&task), self.drawn), (task, now));
            }
        }
    }

    /// The most urgent object that can be looked at now; it is under way until it has succeeded or failed.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Task> {
        if self.busy.len() >= PARALLEL || self.pause.1.is_some_and(|until| until > now) {
            return None;
        }
        let is_due = |task: &Task| self.failed.get(task).is_none_or(|(_, at)| *at <= now);
        let can_be = |task: &Task| !self.busy.contains(task) && is_due(task);
        let (number, (_, since)) = self.line.iter().find(|(_, (task, _))| can_be(task))?;
        let yields = self.busy_with(Urgency::Import) > 0 && now < *since + PATIENCE;
        if number.0 == Urgency::Answer && (yields || self.busy_with(Urgency::Answer) >= ANSWERS) {
            return None;
        }
        let number = *number;
        let (task, _) = self.line.remove(&number)?;
        self.waiting.remove(&task);
        self.busy.insert(task.clone());
        Some(task)
    }

    fn busy_with(&self, urgency: Urgency) -> usize {
        self.busy.iter().filter(|task| Urgency::of(task) == urgency).count()
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
        self.add([task.clone()], now);
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

    fn export(name: &str) -> Task {
        Task::Export(name.to_owned())
    }

    fn queue(tasks: &[Task]) -> (Queue, Instant) {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.add(tasks.iter().cloned(), now);
        (queue, now)
    }

    #[test]
    fn imports_come_before_what_is_said_to_exporters() {
        let (mut queue, now) = queue(&[export("a"), import("z")]);
        assert_eq!(queue.next(now), Some(import("z")));
        queue.succeeded(&import("z"));
        assert_eq!(queue.next(now), Some(export("a")));
        assert_eq!(queue.next(now), None);
    }

    #[test]
    fn who_came_first_is_served_first_and_once() {
        let (mut queue, now) = queue(&[import("z"), import("a"), import("z")]);
        assert_eq!(queue.next(now), Some(import("z")));
        queue.succeeded(&import("z"));
        queue.add([import("z")], now);
        assert_eq!(
            queue.next(now),
            Some(import("a")),
            "what changes all the time does not come before others"
        );
        assert_eq!(queue.next(now), Some(import("z")));
        assert_eq!(queue.next(now), None);
    }

    #[test]
    fn exporters_are_answered_after_imports_but_do_not_wait_for_ever() {
        let (answer, set) = (export("a"), Task::ClusterSet("set".to_owned()));
        let (mut queue, now) = queue(&[answer.clone(), set.clone(), import("i")]);
        let next: Vec<Option<Task>> = (0..3).map(|_| queue.next(now)).collect();
        assert_eq!(next, [Some(import("i")), Some(set), None]);
        queue.add([answer.clone()], now + PATIENCE / 2);
        assert_eq!(queue.next(now + PATIENCE), Some(answer), "by the time when it came first");
        queue.add([export("b")], now + PATIENCE);
        assert_eq!(queue.next(now + PATIENCE), None);
        queue.succeeded(&import("i"));
        assert_eq!(queue.next(now + PATIENCE), Some(export("b")));
        queue.add([export("c"), import("j")], now + PATIENCE);
        assert_eq!(queue.next(now + PATIENCE), Some(import("j")));
        assert_eq!(queue.next(now + 2 * PATIENCE), None, "two are answered at a time");
    }

    #[test]
    fn an_object_is_under_way_once() {
        let (mut queue, now) = queue(&[import("a")]);
        queue.next(now);
        queue.add([import("a")], now);
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
        queue.add([import("a")], now);
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
        assert_eq!(queue.next(now + SECOND / 2), Some(import("c")));
        queue.answered();
        assert_eq!(queue.next(now), Some(import("a")), "who failed stands in line again");
    }
}
