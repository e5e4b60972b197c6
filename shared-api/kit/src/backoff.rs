//! How long to wait before the next attempt.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// Waits that double from `first` to `longest`, each shortened at random so that many clients do not come back at
/// the same moment.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
    fresh: bool,
}

impl Backoff {
    /// Begins with `first`, and ends with `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, next: first, fresh: true }
    }

    /// The wait before the next attempt: between a half and the whole of the present one. `jitter` is from 0 to 1.
    pub fn wait(&mut self, jitter: f64) -> Duration {
        self.fresh = false;
        let whole = self.next.min(self.longest);
        self.next = whole.saturating_mul(2).min(self.longest);
        whole.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
    }

    /// The last attempt succeeded: begin anew.
    pub const fn reset(&mut self) {
        self.next = self.first;
        self.fresh = true;
    }

    /// Whether nothing has failed yet since the beginning or the last success: what fails for the first time is news.
    pub const fn is_fresh(&self) -> bool {
        self.fresh
    }
}

/// A random number from 0 to 1.
pub fn jitter() -> f64 {
    // A new RandomState has random keys, which is all the randomness that spreading retries needs.
    let random = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(jitter: f64) -> Vec<u128> {
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(3));
        (0..5).map(|_| backoff.wait(jitter).as_millis()).collect()
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        assert_eq!(waits(1.0), [500, 1000, 2000, 3000, 3000]);
    }

    #[test]
    fn jitter_takes_away_up_to_a_half() {
        assert_eq!(waits(0.0), [250, 500, 1000, 1500, 1500]);
        assert_eq!(waits(0.5), [375, 750, 1500, 2250, 2250]);
    }

    #[test]
    fn success_begins_anew() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(9));
        backoff.wait(1.0);
        backoff.wait(1.0);
        assert!(!backoff.is_fresh());
        backoff.reset();
        assert!(backoff.is_fresh());
        assert_eq!(backoff.wait(1.0), Duration::from_secs(1));
    }

    #[test]
    fn random_jitter_is_in_range() {
        assert!((0..100).all(|_| (0.0..=1.0).contains(&jitter())));
    }
}
