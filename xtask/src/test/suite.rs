//! A suite: something that runs, takes its time and has an outcome.

use std::fmt;
use std::ops::AddAssign;
use std::process::Command;
use std::time::{Duration, Instant};

use super::flaky::Flaky;
use super::processors::Ticks;
use xtask::project;

/// How many tests of a suite ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Outcome {
    /// A suite that did not run.
    pub(crate) const SKIPPED: Self = Self { passed: 0, failed: 0, skipped: 1 };
}

impl AddAssign for Outcome {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// A finished suite.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) took: Duration,
    /// The share of that time in which the machine's processors worked, in percent, whatever kept them busy.
    pub(crate) busy_percent: u64,
    pub(crate) outcome: Outcome,
    pub(crate) flaky: Vec<Flaky>,
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, seconds) = (&self.name, self.took.as_secs());
        write!(f, "{name:>20}  {seconds:>4} s  {:>3} % busy  {}", self.busy_percent, self.outcome)
    }
}

/// Runs a suite and measures how long it takes.
pub(crate) fn timed(name: &str, run: impl FnOnce() -> Outcome) -> Suite {
    timed_with_flaky(name, || (run(), Vec::new()))
}

/// The same for a suite that repeats tests that fail.
pub(crate) fn timed_with_flaky(name: &str, run: impl FnOnce() -> (Outcome, Vec<Flaky>)) -> Suite {
    println!("--- {name}");
    let (started, before) = (Instant::now(), Ticks::now());
    let (outcome, flaky) = run();
    let busy_percent = Ticks::now().busy_percent_since(before);
    Suite { name: name.to_owned(), took: started.elapsed(), busy_percent, outcome, flaky }
}

/// The outcome of a suite of one test.
pub(crate) fn one(passed: bool) -> Outcome {
    Outcome { passed: usize::from(passed), failed: usize::from(!passed), skipped: 0 }
}

/// Runs a cargo command as a suite of one test.
pub(crate) fn command(name: &str, arguments: &[&str]) -> Suite {
    timed(name, || {
        let status = Command::new(env!("CARGO")).args(arguments).current_dir(project::root()).status();
        one(status.is_ok_and(|status| status.success()))
    })
}
