//! What is to be looked at, and when: each object at most once at a time, in the order in which they came, again later
//! after a failure, and nothing while the API server is in trouble.
//!
//! Members wait for imports. Exporters are answered, and exports that go are let go, after these, and once for all that
//! changed until then: the exports of a Service and of its endpoints come one after the other, and what is said of the
//! first alone holds for milliseconds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use antrea_kit::backoff::Backoff;

use crate::action::Task;

/// Requests that are under way at once.
const PARALLEL: usize = 16;
/// The most of these that answer exporters, so that imports which come meanwhile find the API server free.
const ANSWERS: usize = 2;
/// How many requests of each urgency may be under way though more urgent ones never end, once they have waited for
/// `PATIENCE`: one member may change what is exported or claimed all the time.
const SHARE: usize = 2;
/// How long an answer waits at least for what may change it.
const SETTLE: Duration = Duration::from_millis(50);
/// How long an answer waits for imports that are being written: both cost the API server as much.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a request is good for; the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// All members wait for it.
    Import,
    /// It says who is a member.
    Membership,
    /// It tells an exporter what became of its export, or lets that go.
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

/// When an object came: its number in the line, and the time.
type Turn = (u64, Instant);

/// Objects that wait, and those under way. What one of them costs does not depend on how many others have failed.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// Those that stand in line, and those that failed.
    waiting: BTreeSet<Task>,
    /// They can be looked at, by the numbers that they drew, and since when they stand there.
    line: BTreeMap<(Urgency, u64), (Task, Instant)>,
    drawn: u64,
    /// Those under way; with their turn where they came again meanwhile.
    busy: BTreeMap<Task, Option<Turn>>,
    /// Objects that failed, by the time at which they are tried again.
    delayed: BTreeSet<(Instant, Task)>,
    /// How long objects wait that fail again.
    backoffs: BTreeMap<Task, Backoff>,
    /// When the API server is asked again that was in trouble.
    pause: (Backoff, Option<Instant>),
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            waiting: BTreeSet::new(),
            line: BTreeMap::new(),
            drawn: 0,
            busy: BTreeMap::new(),
            delayed: BTreeSet::new(),
            backoffs: BTreeMap::new(),
            pause: (Backoff::new(Duration::from_millis(500), Duration::from_secs(10)), None),
        }
    }
}

impl Queue {
    /// These are to be looked at.
    pub(crate) fn add(&mut self, tasks: impl IntoIterator<Item = Task>, now: Instant) {
        for task in tasks {
            if self.waiting.contains(&task) || self.busy.get(&task).is_some_and(Option::is_some) {
                continue;
            }
            let turn = self.draw(now);
            match self.busy.get_mut(&task) {
                Some(again) => *again = Some(turn),
                None => self.line_up(task, turn),
            }
        }
    }

    fn draw(&mut self, now: Instant) -> Turn {
        self.drawn += 1;
        (self.drawn, now)
    }

    fn line_up(&mut self, task: Task, (number, since): Turn) {
        self.waiting.insert(task.clone());
        self.line.insert((Urgency::of(&task), number), (task, since));
    }

    /// The most urgent object that can be looked at now; it is under way until it has succeeded or failed.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Task> {
        if self.busy.len() >= PARALLEL || self.pause.1.is_some_and(|until| until > now) {
            return None;
        }
        self.line_up_due(now);
        let place = self.overdue(now).or_else(|| self.most_urgent(now))?;
        let (task, _) = self.line.remove(&place)?;
        self.waiting.remove(&task);
        self.busy.insert(task.clone(), None);
        Some(task)
    }

    fn most_urgent(&self, now: Instant) -> Option<(Urgency, u64)> {
        let (place, (_, since)) = self.line.first_key_value()?;
        let yields = self.busy_with(Urgency::Import) > 0 && now < *since + PATIENCE;
        let may_change = now < *since + SETTLE;
        let has_to_wait = place.0 == Urgency::Answer
            && (may_change || yields || self.busy_with(Urgency::Answer) >= ANSWERS);
        (!has_to_wait).then_some(*place)
    }

    /// What has waited for too long behind more urgent things.
    fn overdue(&self, now: Instant) -> Option<(Urgency, u64)> {
        let first_of = |urgency: Urgency| {
            let (place, (_, since)) = self.line.range((urgency, 0)..=(urgency, u64::MAX)).next()?;
            let is_overdue = now >= *since + PATIENCE && self.busy_with(urgency) < SHARE;
            is_overdue.then_some(*place)
        };
        first_of(Urgency::Answer).or_else(|| first_of(Urgency::Membership))
    }

    /// What has waited since it failed goes to the end of the line.
    fn line_up_due(&mut self, now: Instant) {
        while self.delayed.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, task)) = self.delayed.pop_first() else { return };
            let turn = self.draw(now);
            self.line_up(task, turn);
        }
    }

    /// When the first of the answers has waited long enough that had not at `now`. Those that came last are at the end of
    /// the line: what waits for longer is not looked at.
    pub(crate) fn settles(&self, now: Instant) -> Option<Instant> {
        let answers = self.line.range((Urgency::Answer, 0)..).rev();
        answers.map(|(_, (_, since))| *since + SETTLE).take_while(|at| *at > now).last()
    }

    fn busy_with(&self, urgency: Urgency) -> usize {
        self.busy.keys().filter(|task| Urgency::of(task) == urgency).count()
    }

    /// The object is as it should be, unless it came again meanwhile.
    pub(crate) fn succeeded(&mut self, task: &Task) {
        self.backoffs.remove(task);
        if let Some(again) = self.busy.remove(task).flatten() {
            self.line_up(task.clone(), again);
        }
    }

    /// The API server answered.
    pub(crate) fn answered(&mut self) {
        self.pause.0.reset();
        self.pause.1 = None;
    }

    /// The object has to be looked at again, later each time. Whether the failure is news.
    pub(crate) fn failed(&mut self, task: &Task, failure: Failure, now: Instant, jitter: f64) -> bool {
        let again = self.busy.remove(task).flatten();
        match failure {
            Failure::Object => {
                let first = || Backoff::new(Duration::from_millis(200), Duration::from_secs(30));
                let backoff = self.backoffs.entry(task.clone()).or_insert_with(first);
                let news = backoff.is_fresh();
                let at = now + backoff.wait(jitter);
                self.waiting.insert(task.clone());
                self.delayed.insert((at, task.clone()));
                news
            }
            Failure::Server => {
                let turn = again.unwrap_or_else(|| self.draw(now));
                self.line_up(task.clone(), turn);
                self.begin_pause(now, jitter)
            }
        }
    }

    /// Asks nothing for a while. Whether that is news.
    fn begin_pause(&mut self, now: Instant, jitter: f64) -> bool {
        // What was under way when the trouble began does not make the pause longer.
        if self.pause.1.is_some_and(|until| until > now) {
            return false;
        }
        let news = self.pause.0.is_fresh();
        self.pause.1 = Some(now + self.pause.0.wait(jitter));
        news
    }
}

#[cfg(test)]
mod tests;
