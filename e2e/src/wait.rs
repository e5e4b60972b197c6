//! Waiting for conditions. Only [`pause`] waits for time: between two looks, or to show that something does not happen.
//! Time limits are for an idle machine and grow on a slow one: [`patience`].

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::patience;

/// Between two looks at a condition.
const PAUSE: Duration = Duration::from_millis(100);

/// The same where the moment itself matters.
const SHORT_PAUSE: Duration = Duration::from_millis(5);

/// Asks `condition` until it returns a value.
///
/// # Errors
/// When `timeout` is over: what was waited for, and the last error that `condition` returned.
pub fn eventually<T>(
    timeout: Duration,
    what: &str,
    condition: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    every(PAUSE, timeout, what, condition)
}

/// Like [`eventually`], but looks so often that the moment of its return is that of the change.
///
/// # Errors
/// As [`eventually`].
pub fn closely<T>(timeout: Duration, what: &str, condition: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    every(SHORT_PAUSE, timeout, what, condition)
}

/// Like [`eventually`], with a pause of the caller's: short where the moment matters, long where looking costs.
///
/// # Errors
/// As [`eventually`].
pub fn every<T>(
    between: Duration,
    timeout: Duration,
    what: &str,
    mut condition: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let started = Instant::now();
    let mut limit = Limit::new(timeout);
    loop {
        let error = match condition() {
            Ok(Some(value)) => return Ok(value),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        let elapsed = started.elapsed();
        if limit.is_over(elapsed, patience::slowness) {
            let waited = format!("timed out after {} s waiting for {what}", elapsed.as_secs());
            match error {
                Some(error) => return Err(error.context(waited)),
                None => bail!("{waited}"),
            }
        }
        pause(between);
    }
}

/// A time limit that is extended once, when it is reached on a machine that is slow at that moment.
struct Limit {
    after: Duration,
    may_be_extended: bool,
}

impl Limit {
    fn new(timeout: Duration) -> Self {
        Self { after: patience::stretched(timeout), may_be_extended: true }
    }

    fn is_over(&mut self, elapsed: Duration, slowness: impl FnOnce() -> f64) -> bool {
        if elapsed >= self.after && self.may_be_extended {
            self.may_be_extended = false;
            self.after = self.after.mul_f64(slowness());
        }
        elapsed >= self.after
    }
}

/// Like [`eventually`], for a condition that holds or does not.
///
/// # Errors
/// As [`eventually`].
pub fn until(timeout: Duration, what: &str, mut condition: impl FnMut() -> Result<bool>) -> Result<()> {
    eventually(timeout, what, || Ok(condition()?.then_some(())))
}

/// Lets time pass: before looking again, or for what must not happen meanwhile.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that looks again later; there is no runtime here"
)]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_is_told_when_time_is_over() {
        let result: Result<()> = eventually(Duration::ZERO, "rain", || bail!("the sky is blue"));
        assert_eq!(
            format!("{:#}", result.unwrap_err()),
            "timed out after 0 s waiting for rain: the sky is blue"
        );
    }

    #[test]
    fn a_limit_is_extended_once_and_only_where_the_machine_is_slow() {
        let over =
            |limit: &mut Limit, seconds, slowness| limit.is_over(Duration::from_secs(seconds), || slowness);
        let mut idle = Limit::new(Duration::from_secs(10));
        assert!(!over(&mut idle, 9, 3.0) && over(&mut idle, 10, 1.0));
        let mut busy = Limit::new(Duration::from_secs(10));
        assert!(!over(&mut busy, 10, 3.0) && !over(&mut busy, 29, 3.0) && over(&mut busy, 30, 3.0));
    }

    #[test]
    fn a_condition_is_asked_again() {
        let mut asked = 0;
        let count = eventually(Duration::from_secs(5), "two", || {
            asked += 1;
            Ok((asked == 2).then_some(asked))
        });
        assert_eq!(count.unwrap(), 2);
    }
}
