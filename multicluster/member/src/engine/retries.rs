//! How long what failed waits before it is tried again. What succeeds and does not last counts as failed: somebody
//! undoes it, or the API server keeps it otherwise, and neither is asked as fast as it can answer.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};

use crate::action::Action;

/// How long something waits that never succeeds. Whoever mends its cause watches for it.
const LONGEST: Duration = Duration::from_secs(10);

/// What is known of the last attempts for each subject that is not settled.
#[derive(Debug)]
pub(super) struct Retries<S>(BTreeMap<S, Retry>);

#[derive(Debug)]
struct Retry {
    backoff: Backoff,
    last: Vec<Action>,
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
            backoff: Backoff::new(Duration::from_millis(500), LONGEST),
            last: Vec::new(),
        })
    }

    /// An attempt failed.
    pub(super) fn failed(&mut self, subject: &S) -> Failed {
        let retry = self.of(subject);
        let is_news = retry.backoff.is_fresh();
        retry.last.clear();
        Failed { wait: retry.backoff.wait(jitter()), is_news }
    }

    /// These requests were answered well.
    pub(super) fn succeeded(&mut self, subject: &S, actions: Vec<Action>) {
        self.of(subject).last = actions;
    }

    /// Nothing is left to do. Whether something had failed before: its cause is gone, which may be that of others, too.
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
    fn what_was_answered_well_and_is_missing_again_waits() {
        let mut retries = Retries::default();
        retries.succeeded(&"web", create("a"));
        assert_eq!(retries.repeats(&"web", &create("b")), None, "this is something else");
        assert_eq!(retries.repeats(&"web", &[]), None, "nothing is left to do");
        assert!(retries.repeats(&"web", &create("a")).is_some());
        assert_eq!(retries.repeats(&"web", &create("a")), None, "after the wait it is tried");
    }

    #[test]
    fn a_status_is_the_same_over_every_version() {
        let mut retries = Retries::default();
        let status = |version: &str, reason: &str| {
            let patch = json!({ "metadata": { "resourceVersion": version }, "status": { "reason": reason } });
            vec![Action::PatchStatus(Key::new(Kind::ServiceExport, "shop", "web"), patch)]
        };
        retries.succeeded(&"web", status("7", "Exported"));
        assert_eq!(retries.repeats(&"web", &status("8", "Failed")), None, "this is something else");
        assert!(retries.repeats(&"web", &status("8", "Exported")).is_some());
    }
}
