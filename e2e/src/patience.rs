//! How far time limits are stretched here. They are written for an idle machine with two cores; a slow or busy machine
//! gets more.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Stretches every time limit of labs, as `ANTREA_LAB_PATIENCE=15` does in an emulated machine.
pub use antrea_preflight::PATIENCE;

/// A sample of work, and what it takes on the machine that time limits were written for: two idle cores, and a build
/// without optimisation, as labs and their tests are.
const SAMPLE_STEPS: u64 = 5_000_000;
const SAMPLE_TIME: Duration = Duration::from_millis(26);

/// What else is busy comes and goes: the slowest of so many samples counts.
const SAMPLES: usize = 5;

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

/// Checks that something did not take longer than a limit for an idle machine, which is stretched by how slow this one is
/// at the moment.
///
/// # Errors
/// When it took longer.
pub fn ensure_in_time(what: &str, took: Duration, limit: Duration) -> Result<()> {
    in_time(what, took, limit, worst_slowness)
}

/// Checks that something was done often enough in a second for an idle machine; one that is slow at the moment need not do it
/// as often.
///
/// # Errors
/// When it was done less often.
pub fn ensure_at_least(what: &str, a_second: u32, least: u32) -> Result<()> {
    at_least(what, a_second, least, worst_slowness)
}

fn worst_slowness() -> f64 {
    (0..SAMPLES).map(|_| slowness()).fold(1.0, f64::max)
}

fn in_time(what: &str, took: Duration, limit: Duration, slowness: impl FnOnce() -> f64) -> Result<()> {
    if took <= limit {
        return Ok(());
    }
    let allowed = stretched(limit).mul_f64(slowness());
    ensure!(
        took <= allowed,
        "{what} took {took:.1?}; at most {allowed:.1?} are allowed on a machine as slow as this"
    );
    println!("{what} took {took:.1?}: more than {limit:?}, but this machine is slow");
    Ok(())
}

fn at_least(what: &str, a_second: u32, least: u32, slowness: impl FnOnce() -> f64) -> Result<()> {
    if a_second >= least {
        return Ok(());
    }
    let expected = f64::from(least) / slowness();
    ensure!(
        f64::from(a_second) >= expected,
        "{what}: {a_second} a second; at least {expected:.0} are expected of a machine as slow as this"
    );
    println!("{what}: {a_second} a second: fewer than {least}, but this machine is slow");
    Ok(())
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
    fn what_is_late_is_judged_by_how_slow_the_machine_is() {
        let check = |seconds, slowness| {
            let limit = Duration::from_secs(5);
            in_time("it", Duration::from_secs(seconds), limit, || slowness).map_err(|error| error.to_string())
        };
        assert!(check(5, 1.0).is_ok() && check(10, 2.0).is_ok());
        assert_eq!(
            check(11, 2.0).unwrap_err(),
            "it took 11.0s; at most 10.0s are allowed on a machine as slow as this"
        );
    }

    #[test]
    fn what_is_too_seldom_is_judged_by_how_slow_the_machine_is() {
        let check = |a_second, slowness| {
            at_least("requests", a_second, 400, || slowness).map_err(|error| error.to_string())
        };
        assert!(check(400, 1.0).is_ok() && check(200, 2.0).is_ok());
        assert_eq!(
            check(199, 2.0).unwrap_err(),
            "requests: 199 a second; at least 200 are expected of a machine as slow as this"
        );
    }

    #[test]
    fn a_user_stretches_limits_by_whole_numbers() {
        assert_eq!([None, Some("15"), Some("0"), Some("much")].map(factor), [1, 15, 1, 1]);
    }
}
