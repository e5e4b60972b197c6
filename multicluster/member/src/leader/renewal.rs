//! When the token is renewed: at half of its life, again and again after a failure, and never soon after a success.

use std::time::Duration;

use antrea_kit::backoff::Backoff;
use jiff::{SignedDuration, Timestamp};

use super::credentials::{Credentials, Renewable};

/// Waits after failures: a token of the shortest life, 10 minutes, has some more attempts after half of it.
const FIRST_WAIT: Duration = Duration::from_secs(10);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// The shortest time between two renewals.
const SHORTEST_REST: Duration = Duration::from_secs(60);

/// When a token was renewed last, by a time that only grows. Clocks may be wrong by more than half of the life of a token, or
/// the leader may date it back: each new one is due as soon as it comes then.
#[derive(Clone, Debug, Default)]
pub struct Pace(Option<Duration>);

impl Pace {
    /// A token was renewed at `now`.
    pub fn renewed(&mut self, now: Duration) {
        self.0 = Some(now);
    }

    /// Whether this token may be renewed at `now`.
    pub fn allows(&self, token: &Renewable, now: Duration) -> bool {
        let life = Duration::try_from(token.issued.duration_until(token.expire)).unwrap_or_default();
        let rest = (life / 10).clamp(SHORTEST_REST, LONGEST_WAIT);
        self.0.is_none_or(|last| last.saturating_add(rest) <= now)
    }
}

/// The attempts to renew one token.
#[derive(Clone, Debug)]
pub struct Renewal {
    backoff: Backoff,
    next: Option<Timestamp>,
    problem: Option<String>,
}

impl Default for Renewal {
    fn default() -> Self {
        Self { backoff: Backoff::new(FIRST_WAIT, LONGEST_WAIT), next: None, problem: None }
    }
}

impl Renewal {
    /// The token, if it is time to renew it. By the own clock it may have expired: a leader that takes it renews it.
    pub fn due(&self, credentials: &Credentials, now: Timestamp) -> Option<Renewable> {
        let token = credentials.renewable().filter(|token| token.issued < token.expire)?;
        let half_life = token.issued + token.issued.duration_until(token.expire) / 2;
        let begins = self.next.map_or(half_life, |next| next.max(half_life));
        (begins <= now).then_some(token)
    }

    /// An attempt failed at `now`; `jitter` is from 0 to 1. Whether that is news.
    pub fn failed(&mut self, why: String, now: Timestamp, jitter: f64) -> bool {
        let is_news = self.problem.as_ref() != Some(&why);
        let wait = SignedDuration::try_from(self.backoff.wait(jitter)).unwrap_or(SignedDuration::MAX);
        self.next = Some(now.saturating_add(wait).unwrap_or(Timestamp::MAX));
        self.problem = Some(why);
        is_news
    }

    /// Why the token could not be renewed last time; nothing where nobody has tried, or it could.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }
}
