//! How long what failed waits before it is tried again. What succeeds and does not last counts as failed: somebody
//! undoes it, or the API server keeps it otherwise, and neither is asked as fast as it can answer.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};

use crate::action::Action;
use crate::kind::Side;

const SHORTEST: Duration = Duration::from_millis(500);
/// How long something waits that never succeeds. Whoever mends its cause watches for it.
const LONGEST: Duration = Duration::from_secs(10);
/// How long something waits that our own API server refuses, because of a quota, say.
const LONGEST_HERE: Duration = Duration::from_secs(60);
/// How long something waits that the leader refuses, where it does not say when that is over: each attempt asks a webhook
/// there.
const LONGEST_AT_LEADER: Duration = Duration::from_secs(300);

/// What is known of the last attempts for each subject that is not settled.
#[derive(Debug)]
pub(super) struct Retries<S>(BTreeMap<S, Retry>);

#[derive(Debug)]
struct Retry {
    backoff: Backoff,
    last: Vec<Action>,
    refusal: Option<Refusal>,
}

/// What was refused.
#[derive(Debug)]
struct Refusal {
    backoff: Backoff,
    actions: Vec<Action>,
}

/// What follows from an attempt that failed.
#[derive(Debug)]
pub(super) struct Failed {
    /// How long the next one waits.
    pub(super) wait: Duration,
    /// Whether the one before had not failed.
    pub(super) is_news: bool,
}

impl<S> Default for Retries<S> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<S: Clone + Ord> Retries<S> {
    fn of(&mut self, subject: &S) -> &mut Retry {
        self.0.entry(subject.clone()).or_insert_with(|| Retry {
            backoff: Backoff::new(SHORTEST, LONGEST),
            last: Vec::new(),
            refusal: None,
        })
    }

    /// An attempt failed.
    pub(super) fn failed(&mut self, subject: &S) -> Failed {
        let retry = self.of(subject);
        let is_news = retry.backoff.is_fresh();
        retry.last.clear();
        Failed { wait: retry.backoff.wait(jitter()), is_news }
    }

    /// These requests were refused.
    pub(super) fn refused(&mut self, subject: &S, by: Side, actions: Vec<Action>) -> Failed {
        let longest = match by {
            Side::Local => LONGEST_HERE,
            Side::Leader => LONGEST_AT_LEADER,
        };
        let retry = self.of(subject);
        retry.last.clear();
        let before = retry.refusal.take();
        let is_news = before.is_none();
        let mut backoff = before.map_or_else(|| Backoff::new(SHORTEST, longest), |before| before.backoff);
        let wait = backoff.wait(jitter());
        retry.refusal = Some(Refusal { backoff, actions });
        Failed { wait, is_news }
    }

    /// Takes out of requests what was refused, and what comes after it. Whether there was any.
    pub(super) fn withhold(&self, subject: &S, actions: &mut Vec<Action>) -> bool {
        let refused = self.0.get(subject).and_then(|retry| retry.refusal.as_ref());
        let is_refused =
            |action: &Action| refused.is_some_and(|of| of.actions.iter().any(|other| other.is_like(action)));
        let first = actions.iter().position(is_refused);
        actions.truncate(first.unwrap_or(actions.len()));
        first.is_some()
    }

    /// What was refused may be taken now, or soon: a webhook may learn later than this member why.
    pub(super) fn reconsider(&mut self) {
        self.0.values_mut().filter_map(|retry| retry.refusal.as_mut()).for_each(|of| of.backoff.reset());
    }

    /// The same, of one subject.
    pub(super) fn reconsider_one(&mut self, subject: &S) {
        if let Some(of) = self.0.get_mut(subject).and_then(|retry| retry.refusal.as_mut()) {
            of.backoff.reset();
        }
    }

    /// These requests were answered well.
    pub(super) fn succeeded(&mut self, subject: &S, actions: Vec<Action>) {
        self.of(subject).last = actions;
    }

    /// Nothing is left to do. Whether something had failed before: its cause is gone, which may be that of others, too.
    /// What was refused has causes of its own.
    pub(super) fn settled(&mut self, subject: &S) -> bool {
        self.0.remove(subject).is_some_and(|retry| !retry.backoff.is_fresh())
    }

    /// How long these requests wait, if the same were just answered well.
    pub(super) fn repeats(&mut self, subject: &S, actions: &[Action]) -> Option<Duration> {
        let are_last = |retry: &Retry| {
            let mut both = retry.last.iter().zip(actions);
            retry.last.len() == actions.len() && both.all(|(last, action)| last.is_like(action))
        };
        let repeats = !actions.is_empty() && self.0.get(subject).is_some_and(are_last);
        repeats.then(|| self.failed(subject).wait)
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
        let mut retries = Retries::default();
        let (first, second) = (retries.failed(&"web"), retries.failed(&"web"));
        assert!(first.is_news && !second.is_news);
        assert!((250..=500).contains(&first.wait.as_millis()), "{first:?}");
        assert!((500..=1000).contains(&second.wait.as_millis()), "{second:?}");
        retries.settled(&"web");
        assert!(retries.failed(&"web").is_news);
    }

    #[test]
    fn what_succeeds_that_had_failed_says_that_a_cause_is_gone() {
        let mut retries = Retries::default();
        retries.succeeded(&"cart", create("a"));
        assert!(!retries.settled(&"cart"), "this one had not failed");
        retries.failed(&"api");
        retries.succeeded(&"api", create("a"));
        assert!(retries.settled(&"api"));
        assert!(!retries.settled(&"api"), "it is told once");
    }

    #[test]
    fn what_is_refused_waits_for_minutes_and_what_fails_for_seconds() {
        let mut retries = Retries::default();
        let mut waits = |subject: &'static str, by: Option<Side>| -> Vec<u64> {
            let once = |_| match by {
                Some(side) => retries.refused(&subject, side, create("a")),
                None => retries.failed(&subject),
            };
            (0..20).map(once).map(|failed| failed.wait.as_secs()).collect()
        };
        for (subject, by, longest) in
            [("fails", None, 10), ("here", Some(Side::Local), 60), ("there", Some(Side::Leader), 300)]
        {
            let waits = waits(subject, by);
            assert_eq!(waits.first(), Some(&0), "{subject}");
            assert!((longest / 2..=longest).contains(waits.last().unwrap()), "{subject}: {waits:?}");
        }
        retries.reconsider();
        assert!(retries.refused(&"there", Side::Leader, create("a")).wait < Duration::from_secs(1));
    }

    #[test]
    fn what_was_refused_is_withheld_with_what_follows_and_nothing_else_is() {
        let mut retries = Retries::default();
        retries.failed(&"web");
        assert!(retries.refused(&"web", Side::Leader, create("b")).is_news);
        assert!(!retries.refused(&"web", Side::Leader, create("b")).is_news);
        let mut plan = [create("a"), create("b"), create("c")].concat();
        assert!(retries.withhold(&"web", &mut plan));
        assert_eq!(plan, create("a"));
        let mut another = create("d");
        assert!(!retries.withhold(&"web", &mut another) && !another.is_empty());
        assert!(!retries.withhold(&"api", &mut create("b")));
        assert!(retries.settled(&"web"), "it had failed, too");
        retries.refused(&"api", Side::Leader, create("b"));
        assert!(!retries.settled(&"api"), "what was refused says nothing of others");
    }

    #[test]
    fn what_was_answered_well_and_is_missing_again_waits() {
        let mut retries = Retries::default();
        retries.succeeded(&"web", create("a"));
        assert_eq!(retries.repeats(&"web", &create("b")), None, "this is something else");
        assert_eq!(retries.repeats(&"web", &[]), None, "nothing is left to do");
        assert!(retries.repeats(&"web", &create("a")).is_some());
        assert_eq!(retries.repeats(&"web", &create("a")), None, "after the wait it is tried");
    }

    #[test]
    fn a_status_is_the_same_over_every_version_and_at_any_time() {
        let mut retries = Retries::default();
        let status = |version: &str, reason: &str| {
            let conditions = json!([{ "reason": reason, "lastTransitionTime": version }]);
            let patch =
                json!({ "metadata": { "resourceVersion": version }, "status": { "conditions": conditions } });
            vec![Action::PatchStatus(Key::new(Kind::ServiceExport, "shop", "web"), patch)]
        };
        retries.succeeded(&"web", status("7", "Exported"));
        assert_eq!(retries.repeats(&"web", &status("8", "Failed")), None, "this is something else");
        assert!(retries.repeats(&"web", &status("8", "Exported")).is_some());
    }
}
