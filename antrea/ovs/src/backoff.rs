//! How long to wait before the next attempt: doubling delays with jitter.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// Delays that double from `first` to `limit`, each shortened by a random part of at most its half, so that
/// many clients of a server that comes back do not knock at the same moment.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    limit: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) const fn new(first: Duration, limit: Duration) -> Self {
        Self { first, limit, next: first }
    }

    /// Starts over: an attempt succeeded.
    pub(crate) const fn reset(&mut self) {
        self.next = self.first;
    }

    /// The next delay.
    pub(crate) fn delay(&mut self) -> Duration {
        self.next_delay(random())
    }

    /// The next delay; `random` is any evenly distributed number.
    fn next_delay(&mut self, random: u64) -> Duration {
        let delay = self.next;
        self.next = (delay * 2).min(self.limit);
        let half = delay / 2;
        let spread = u64::try_from(half.as_micros()).unwrap_or(u64::MAX).max(1);
        delay - Duration::from_micros(random % spread)
    }

    /// Waits for the next delay.
    pub(crate) async fn wait(&mut self) {
        tokio::time::sleep(self.delay()).await;
    }
}

/// A number that differs between processes and calls; the standard library seeds its hashers at random.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(random: u64) -> Vec<u128> {
        let mut backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(2));
        (0..5).map(|_| backoff.next_delay(random).as_millis()).collect()
    }

    #[test]
    fn delays_double_up_to_the_limit() {
        assert_eq!(delays(0), [250, 500, 1000, 2000, 2000]);
    }

    #[test]
    fn jitter_takes_away_half_a_delay_at_most() {
        assert_eq!(delays(124_999), [125, 375, 875, 1875, 1875]);
        assert!(delays(u64::MAX).iter().zip(delays(0)).all(|(short, full)| *short * 2 >= full));
    }

    #[test]
    fn success_starts_over() {
        let mut backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(2));
        backoff.next_delay(0);
        backoff.reset();
        assert_eq!(backoff.next_delay(0), Duration::from_millis(250));
    }
}
