//! When the token is renewed: at half of its life, and again and again after a failure, as long as it lasts.

use std::time::Duration;

use antrea_kit::backoff::Backoff;
use jiff::{SignedDuration, Timestamp};

use super::credentials::{Credentials, Renewable};

/// Waits after failures: a token of the shortest life, 10 minutes, has some more attempts after half of it.
const FIRST_WAIT: Duration = Duration::from_secs(10);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

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
    /// The token, if it is time to renew it. One that has expired cannot be.
    pub fn due(&self, credentials: &Credentials, now: Timestamp) -> Option<Renewable> {
        let token = credentials.renewable()?;
        let half_life = token.issued + token.issued.duration_until(token.expire) / 2;
        let begins = self.next.map_or(half_life, |next| next.max(half_life));
        (begins <= now && now < token.expire).then_some(token)
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
