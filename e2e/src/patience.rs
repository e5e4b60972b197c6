//! How much longer than written everything may take here. Time limits are written for an idle machine with two cores;
//! a slow or busy machine gets more.

use std::time::{Duration, Instant};

/// Stretches every time limit of labs, as `ANTREA_LAB_PATIENCE=15` does in an emulated machine.
pub use antrea_preflight::PATIENCE;

/// A sample of work, and what it takes on the machine that time limits were written for: two idle cores, and a build
/// without optimisation, as labs and their tests are.
const SAMPLE_STEPS: u64 = 5_000_000;
const SAMPLE_TIME: Duration = Duration::from_millis(26);

/// More than this is not slowness: something hangs.
const MOST: f64 = 6.0;

/// A time limit as the user has stretched it.
pub fn stretched(limit: Duration) -> Duration {
    limit.saturating_mul(factor(std::env::var(PATIENCE).ok().as_deref()))
}

/// By how much the machine is slower at this moment than it should be: from 1 to 6. Takes some tens of milliseconds.
pub fn slowness() -> f64 {
    slowness_of(sample())
}

fn factor(variable: Option<&str>) -> u32 {
    variable.and_then(|text| text.parse().ok()).unwrap_or(1).max(1)
}

fn slowness_of(sample: Duration) -> f64 {
    (sample.as_secs_f64() / SAMPLE_TIME.as_secs_f64()).clamp(1.0, MOST)
}

/// The time that the work takes when every core does it at once: another process that keeps a core busy shows.
fn sample() -> Duration {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                std::hint::black_box((0..SAMPLE_STEPS).fold(1_u64, |hash, step| (hash ^ step).rotate_left(7)))
            });
        }
    });
    started.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_machine_gets_more_time_but_not_for_ever() {
        let times = |millis| slowness_of(Duration::from_millis(millis));
        assert_eq!([times(5), times(26), times(52), times(10_000)], [1.0, 1.0, 2.0, 6.0]);
    }

    #[test]
    fn a_user_stretches_limits_by_whole_numbers() {
        assert_eq!([None, Some("15"), Some("0"), Some("much")].map(factor), [1, 15, 1, 1]);
    }
}
