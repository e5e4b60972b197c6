//! When each subject is looked at: first come, first served, each once at a time. While there is more to do than an API
//! server can take, all of them wait alike, and what changes meanwhile is sent with one request. What one change costs
//! does not depend on how many others wait.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tokio::time::Instant;

use crate::kind::Kind;

/// Subjects that are to be looked at, now or later. Each stands in one place.
#[derive(Debug)]
pub(super) struct Schedule<S> {
    /// They can be looked at, in this order.
    ready: VecDeque<S>,
    queued: BTreeSet<S>,
    /// Those after a failure, by the time at which they are ready again.
    waiting: BTreeSet<(Instant, S)>,
    /// Those that wait until all objects of a kind are known.
    missing: BTreeMap<Kind, BTreeSet<S>>,
    /// Those after a failure, and those whose requests are under way: they are looked at afterwards in any case.
    held: BTreeSet<S>,
}

impl<S> Default for Schedule<S> {
    fn default() -> Self {
        Self {
            ready: VecDeque::new(),
            queued: BTreeSet::new(),
            waiting: BTreeSet::new(),
            missing: BTreeMap::new(),
            held: BTreeSet::new(),
        }
    }
}

impl<S: Clone + Ord> Schedule<S> {
    /// A subject is to be looked at; one that is ready already keeps its place.
    pub(super) fn add(&mut self, subject: S) {
        if !self.held.contains(&subject) && self.queued.insert(subject.clone()) {
            self.ready.push_back(subject);
        }
    }

    /// The first that is ready. It is in no place any more.
    pub(super) fn take(&mut self) -> Option<S> {
        let subject = self.ready.pop_front()?;
        self.queued.remove(&subject);
        Some(subject)
    }

    /// Requests about a subject that was taken are under way.
    pub(super) fn begin(&mut self, subject: S) {
        self.held.insert(subject);
    }

    /// Requests about a subject were answered: it is looked at again.
    pub(super) fn finish(&mut self, subject: S) {
        self.held.remove(&subject);
        self.add(subject);
    }

    /// A subject that was taken, or whose requests were answered, is looked at again at `at`.
    pub(super) fn wait(&mut self, subject: S, at: Instant) {
        self.held.insert(subject.clone());
        self.waiting.insert((at, subject));
    }

    /// A subject that was taken is looked at again when all objects of a kind are known.
    pub(super) fn wait_for(&mut self, kind: Kind, subject: S) {
        self.missing.entry(kind).or_default().insert(subject);
    }

    /// All objects of a kind are known.
    pub(super) fn listed(&mut self, kind: Kind) {
        let subjects = self.missing.remove(&kind);
        self.extend(subjects.into_iter().flatten());
    }

    /// Subjects may wait for other kinds now than before.
    pub(super) fn look_for_missing(&mut self) {
        let subjects = std::mem::take(&mut self.missing);
        self.extend(subjects.into_values().flatten());
    }

    /// What has waited until `now` is ready.
    pub(super) fn wake(&mut self, now: Instant) {
        while self.next().is_some_and(|at| at <= now) {
            let Some((_, subject)) = self.waiting.pop_first() else { return };
            self.finish(subject);
        }
    }

    /// Whatever waits is ready.
    pub(super) fn hurry(&mut self) {
        for (_, subject) in std::mem::take(&mut self.waiting) {
            self.finish(subject);
        }
    }

    /// When the first of those that wait is ready again.
    pub(super) fn next(&self) -> Option<Instant> {
        self.waiting.first().map(|(at, _)| *at)
    }
}

impl<S: Clone + Ord> Extend<S> for Schedule<S> {
    fn extend<I: IntoIterator<Item = S>>(&mut self, subjects: I) {
        subjects.into_iter().for_each(|subject| self.add(subject));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::cmp::Ordering;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_first_to_come_is_served_first_and_once() {
        let mut schedule = Schedule::default();
        schedule.extend(["web", "api", "web"]);
        assert_eq!(schedule.take(), Some("web"));
        schedule.add("web");
        schedule.add("api");
        assert_eq!(schedule.take(), Some("api"), "it was there before web came again");
        assert_eq!((schedule.take(), schedule.take()), (Some("web"), None));
    }

    #[test]
    fn a_busy_subject_is_looked_at_once_more_afterwards() {
        let mut schedule = Schedule::default();
        schedule.begin("busy");
        schedule.extend(["busy", "a"]);
        assert_eq!((schedule.take(), schedule.take()), (Some("a"), None));
        schedule.finish("busy");
        assert_eq!((schedule.take(), schedule.take()), (Some("busy"), None));
    }

    #[test]
    fn a_subject_that_waits_is_looked_at_when_it_is_due_or_when_all_are() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        schedule.wait("late", now + Duration::from_secs(9));
        schedule.begin("soon");
        schedule.wait("soon", now + Duration::from_secs(1));
        schedule.extend(["soon", "late"]);
        schedule.wake(now);
        assert_eq!((schedule.take(), schedule.next()), (None, Some(now + Duration::from_secs(1))));
        schedule.wake(now + Duration::from_secs(1));
        assert_eq!((schedule.take(), schedule.take()), (Some("soon"), None));
        schedule.hurry();
        assert_eq!((schedule.take(), schedule.next()), (Some("late"), None));
    }

    #[test]
    fn a_subject_that_waits_for_a_kind_is_looked_at_when_it_is_known() {
        let mut schedule = Schedule::default();
        schedule.wait_for(Kind::Tier, "policy");
        schedule.wait_for(Kind::Tier, "policy");
        schedule.wait_for(Kind::Namespace, "service");
        schedule.hurry();
        schedule.listed(Kind::Pod);
        assert_eq!(schedule.take(), None);
        schedule.listed(Kind::Tier);
        assert_eq!((schedule.take(), schedule.take()), (Some("policy"), None));
        schedule.look_for_missing();
        assert_eq!((schedule.take(), schedule.take()), (Some("service"), None));
    }

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    /// Counts how often subjects are compared.
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Counted(u32);

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            STEPS.set(STEPS.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    #[test]
    fn what_waits_is_not_looked_at_until_it_is_due() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        for subject in 0..10_000 {
            schedule.wait(Counted(subject), now + Duration::from_millis(1 + u64::from(subject)));
        }
        let before = STEPS.get();
        schedule.extend([Counted(7), Counted(10_000)]);
        schedule.wake(now);
        let taken = schedule.take().map(|subject| subject.0);
        assert_eq!((taken, schedule.next()), (Some(10_000), Some(now + Duration::from_millis(1))));
        let steps = STEPS.get() - before;
        assert!(steps < 400, "{steps} steps");
    }
}
