//! When each subject is looked at: first come, first served, each once at a time; a few go before all others. While there is more
//! to do than an API server can take, the others wait alike, and what changes meanwhile is sent with one request. What one
//! change costs does not depend on how many others wait.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;
use std::time::Duration;

use antrea_kit::backoff::jitter;
use tokio::time::Instant;

use crate::kind::Kind;

/// So many that were refused are tried again at the same time; of more, each some time within this.
const AT_ONCE: usize = 50;
const SPREAD: Duration = Duration::from_secs(2);

/// Subjects that are to be looked at, now or later. Each stands in one place.
#[derive(Debug)]
pub(super) struct Schedule<S> {
    /// Which ones go before all others.
    goes_first: fn(&S) -> bool,
    /// They can be looked at, in this order: those that go first, and then the others.
    first: VecDeque<S>,
    ready: VecDeque<S>,
    queued: BTreeSet<S>,
    /// Those after a failure, by the time at which they are ready again.
    waiting: BTreeSet<(Instant, S)>,
    /// Those that were refused, and when what was refused is tried again. They are looked at meanwhile.
    refused: BTreeMap<S, Instant>,
    due: BTreeSet<(Instant, S)>,
    /// Those that wait until all objects of a kind are known.
    missing: BTreeMap<Kind, BTreeSet<S>>,
    /// Those after a failure, and those whose requests are under way: they are looked at afterwards in any case.
    held: BTreeSet<S>,
}

impl<S> Default for Schedule<S> {
    fn default() -> Self {
        Self::new(|_| false)
    }
}

impl<S> Schedule<S> {
    /// Nothing is to be looked at yet.
    pub(super) fn new(goes_first: fn(&S) -> bool) -> Self {
        Self {
            goes_first,
            first: VecDeque::new(),
            ready: VecDeque::new(),
            queued: BTreeSet::new(),
            waiting: BTreeSet::new(),
            refused: BTreeMap::new(),
            due: BTreeSet::new(),
            missing: BTreeMap::new(),
            held: BTreeSet::new(),
        }
    }
}

impl<S: Clone + Ord> Schedule<S> {
    /// A subject is to be looked at; one that is ready already keeps its place.
    pub(super) fn add(&mut self, subject: S) {
        if !self.held.contains(&subject) && self.queued.insert(subject.clone()) {
            let queue = if (self.goes_first)(&subject) { &mut self.first } else { &mut self.ready };
            queue.push_back(subject);
        }
    }

    /// The first that is ready. It is in no place any more.
    pub(super) fn take(&mut self) -> Option<S> {
        let subject = self.first.pop_front().or_else(|| self.ready.pop_front())?;
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

    /// Something of a subject was refused, and is not tried again before `at`. What else there is to do about it is done
    /// meanwhile.
    pub(super) fn put_off(&mut self, subject: &S, at: Instant) {
        self.recall(subject);
        self.due.insert((at, subject.clone()));
        self.refused.insert(subject.clone(), at);
    }

    /// Whether it is too early for what was refused of a subject.
    pub(super) fn is_put_off(&self, subject: &S) -> bool {
        self.refused.contains_key(subject)
    }

    /// It is not too early any more.
    pub(super) fn recall(&mut self, subject: &S) {
        if let Some((subject, at)) = self.refused.remove_entry(subject) {
            self.due.remove(&(at, subject));
        }
    }

    /// What was refused may be taken now.
    pub(super) fn reconsider(&mut self, now: Instant) {
        let all = mem::take(&mut self.refused);
        self.due.clear();
        let are_many = all.len() > AT_ONCE;
        for (subject, at) in all {
            if are_many {
                self.put_off(&subject, at.min(now + SPREAD.mul_f64(jitter())));
            } else {
                self.add(subject);
            }
        }
    }

    /// Some of what was refused may be taken now: the first that are due are tried. Names them. There are few of them, as what
    /// makes room may happen often.
    pub(super) fn reconsider_first(&mut self) -> Vec<S> {
        let first: Vec<S> = self.due.iter().take(AT_ONCE).map(|(_, subject)| subject.clone()).collect();
        for subject in &first {
            self.recall(subject);
            self.add(subject.clone());
        }
        first
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
        let subjects = mem::take(&mut self.missing);
        self.extend(subjects.into_values().flatten());
    }

    /// What has waited until `now` is ready.
    pub(super) fn wake(&mut self, now: Instant) {
        while let Some(subject) = pop_due(&mut self.waiting, now) {
            self.finish(subject);
        }
        while let Some(subject) = pop_due(&mut self.due, now) {
            self.refused.remove(&subject);
            self.add(subject);
        }
    }

    /// All that wait after a failure are ready.
    pub(super) fn hurry(&mut self) {
        for (_, subject) in mem::take(&mut self.waiting) {
            self.finish(subject);
        }
    }

    /// When the first of those that wait is ready again.
    pub(super) fn next(&self) -> Option<Instant> {
        self.waiting.first().into_iter().chain(self.due.first()).map(|(at, _)| *at).min()
    }
}

fn pop_due<S: Ord>(waiting: &mut BTreeSet<(Instant, S)>, now: Instant) -> Option<S> {
    waiting.first().filter(|(at, _)| *at <= now)?;
    waiting.pop_first().map(|(_, subject)| subject)
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
    fn some_go_before_those_that_came_earlier() {
        let mut schedule = Schedule::new(|subject: &u8| *subject >= 10);
        schedule.extend([1, 10, 2, 11, 10]);
        let served: Vec<u8> = std::iter::from_fn(|| schedule.take()).collect();
        assert_eq!(served, [10, 11, 1, 2]);
        schedule.begin(10);
        schedule.extend([1, 10]);
        schedule.finish(10);
        assert_eq!(
            (schedule.take(), schedule.take()),
            (Some(10), Some(1)),
            "also when its requests were answered"
        );
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

    #[test]
    fn what_was_refused_is_looked_at_meanwhile_and_tried_when_it_is_due() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        schedule.begin("web");
        schedule.put_off(&"web", now + Duration::from_secs(9));
        schedule.finish("web");
        assert_eq!((schedule.take(), schedule.is_put_off(&"web")), (Some("web"), true));
        schedule.add("web");
        assert_eq!(schedule.take(), Some("web"), "something has changed");
        schedule.hurry();
        assert_eq!((schedule.take(), schedule.next()), (None, Some(now + Duration::from_secs(9))));
        schedule.begin("web");
        schedule.wake(now + Duration::from_secs(9));
        assert_eq!((schedule.take(), schedule.next()), (None, None), "its requests are under way");
        schedule.finish("web");
        assert_eq!((schedule.take(), schedule.is_put_off(&"web")), (Some("web"), false));
    }

    #[test]
    fn what_was_refused_again_is_due_once() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        for seconds in [1, 2, 3] {
            schedule.put_off(&"web", now + Duration::from_secs(seconds));
        }
        assert_eq!((schedule.due.len(), schedule.next()), (1, Some(now + Duration::from_secs(3))));
        schedule.recall(&"web");
        assert_eq!((schedule.is_put_off(&"web"), schedule.next()), (false, None));
    }

    #[test]
    fn much_that_was_refused_is_tried_again_within_two_seconds() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        for subject in 0..=AT_ONCE {
            schedule.put_off(&subject, now + Duration::from_secs(300));
        }
        schedule.reconsider(now);
        assert_eq!(schedule.take(), None);
        assert!(schedule.due.iter().all(|(at, _)| *at <= now + SPREAD));
        schedule.wake(now + SPREAD);
        while schedule.take().is_some() {}
        schedule.put_off(&0, now + Duration::from_secs(300));
        schedule.reconsider(now);
        assert_eq!((schedule.take(), schedule.is_put_off(&0)), (Some(0), false), "this is not much");
    }

    #[test]
    fn where_there_is_room_the_first_that_are_due_are_tried() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        for subject in 0..=AT_ONCE {
            schedule.put_off(&subject, now + Duration::from_secs(300 - subject as u64));
        }
        assert_eq!(schedule.reconsider_first(), (1..=AT_ONCE).rev().collect::<Vec<_>>());
        assert_eq!((schedule.take(), schedule.is_put_off(&AT_ONCE)), (Some(AT_ONCE), false));
        assert_eq!((schedule.due.len(), schedule.is_put_off(&0)), (1, true));
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
