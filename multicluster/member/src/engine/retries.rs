//! When what failed is tried again. What succeeds and does not last counts as failed: somebody undoes it, or the API
//! server keeps it otherwise, and neither is asked as fast as it can answer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use tokio::time::Instant;

use crate::action::Action;

/// How long something waits that never succeeds. Whoever mends its cause watches for it.
const LONGEST: Duration = Duration::from_secs(10);

/// What is known of the last attempts for each subject that is not settled.
#[derive(Debug)]
pub(super) struct Retries<S>(BTreeMap<S, Retry>);

#[derive(Debug)]
struct Retry {
    backoff: Backoff,
    at: Option<Instant>,
    last: Vec<Action>,
}

impl<S> Default for Retries<S> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<S: Clone + Ord> Retries<S> {
    fn of(&mut self, subject: &S) -> &mut Retry {
        self.0.entry(subject.clone()).or_insert_with(|| Retry {
            backoff: Backoff::new(Duration::from_millis(500), LONGEST),
            at: None,
            last: Vec::new(),
        })
    }

    /// An attempt failed at `now`. Whether that is news.
    pub(super) fn failed(&mut self, subject: &S, now: Instant) -> bool {
        let retry = self.of(subject);
        let news = retry.backoff.is_fresh();
        retry.at = Some(now + retry.backoff.wait(jitter()));
        retry.last.clear();
        news
    }

    /// These requests were answered well.
    pub(super) fn succeeded(&mut self, subject: &S, actions: Vec<Action>) {
        let retry = self.of(subject);
        retry.at = None;
        retry.last = actions;
    }

    /// Nothing is left to do. Where something had failed before, its cause is gone, which may be that of others, too.
    pub(super) fn settled(&mut self, subject: &S) {
        if self.0.remove(subject).is_some_and(|retry| !retry.backoff.is_fresh()) {
            self.hurry();
        }
    }

    /// Whatever waits is due.
    pub(super) fn hurry(&mut self) {
        self.0.values_mut().for_each(|retry| retry.at = None);
    }

    /// Whether the same requests were just answered well, and are to wait before they are sent once more.
    pub(super) fn repeats(&mut self, subject: &S, actions: &[Action], now: Instant) -> bool {
        let are_last = |retry: &Retry| {
            let mut both = retry.last.iter().zip(actions);
            retry.last.len() == actions.len() && both.all(|(last, action)| last.is_like(action))
        };
        let repeats = !actions.is_empty() && self.0.get(subject).is_some_and(are_last);
        if repeats {
            self.failed(subject, now);
        }
        repeats
    }

    /// Whether it is too early for another attempt.
    pub(super) fn must_wait(&self, subject: &S, now: Instant) -> bool {
        self.0.get(subject).and_then(|retry| retry.at).is_some_and(|at| at > now)
    }

    /// When the next of these that has to wait at `now` may be tried again.
    pub(super) fn next(&self, dirty: &BTreeSet<S>, now: Instant) -> Option<Instant> {
        dirty.iter().filter_map(|subject| self.0.get(subject)?.at).filter(|at| *at > now).min()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::kind::Kind;
    use crate::objects::Key;

    fn create(name: &str) -> Vec<Action> {
        vec![Action::Create(Key::new(Kind::Service, "shop", name), Value::Null)]
    }

    #[test]
    fn what_failed_waits_longer_each_time_and_only_the_first_failure_is_news() {
        let (mut retries, now, dirty) = (Retries::default(), Instant::now(), BTreeSet::from(["web"]));
        assert!(retries.failed(&"web", now));
        assert!(retries.must_wait(&"web", now));
        assert!(!retries.must_wait(&"api", now));
        let first = retries.next(&dirty, now).unwrap();
        assert!(!retries.must_wait(&"web", first));
        assert_eq!(retries.next(&dirty, first), None, "it is due, not to come");
        assert!(!retries.failed(&"web", first));
        assert!(retries.next(&dirty, first).unwrap() - first >= Duration::from_millis(500));
        retries.settled(&"web");
        assert!(!retries.must_wait(&"web", now));
    }

    #[test]
    fn what_waits_is_tried_as_soon_as_something_else_succeeds_that_had_failed() {
        let (mut retries, now) = (Retries::default(), Instant::now());
        retries.failed(&"web", now);
        retries.succeeded(&"cart", create("a"));
        retries.settled(&"cart");
        assert!(retries.must_wait(&"web", now), "this one had not failed");
        retries.failed(&"api", now);
        retries.succeeded(&"api", create("a"));
        retries.settled(&"api");
        assert!(!retries.must_wait(&"web", now));
        assert!(!retries.failed(&"web", now), "it is no news");
    }

    #[test]
    fn what_was_answered_well_and_is_missing_again_waits() {
        let (mut retries, now) = (Retries::default(), Instant::now());
        retries.succeeded(&"web", create("a"));
        assert!(!retries.repeats(&"web", &create("b"), now), "this is something else");
        assert!(!retries.repeats(&"web", &[], now), "nothing is left to do");
        assert!(retries.repeats(&"web", &create("a"), now));
        assert!(retries.must_wait(&"web", now));
        assert!(!retries.repeats(&"web", &create("a"), now), "after the wait it is tried");
    }

    #[test]
    fn a_status_is_the_same_over_every_version() {
        let (mut retries, now) = (Retries::default(), Instant::now());
        let status = |version: &str, reason: &str| {
            let patch = json!({ "metadata": { "resourceVersion": version }, "status": { "reason": reason } });
            vec![Action::PatchStatus(Key::new(Kind::ServiceExport, "shop", "web"), patch)]
        };
        retries.succeeded(&"web", status("7", "Exported"));
        assert!(!retries.repeats(&"web", &status("8", "Failed"), now), "this is something else");
        assert!(retries.repeats(&"web", &status("8", "Exported"), now));
    }
}
