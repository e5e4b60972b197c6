//! All suites of a run: those that ran, those that could not, and the line that closes it all.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use super::suite::{self, Outcome, Suite};

/// The suites so far.
#[derive(Debug)]
pub(crate) struct Suites {
    started: Instant,
    suites: Vec<Suite>,
}

impl Suites {
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), suites: Vec::new() }
    }

    pub(crate) fn add(&mut self, suite: Suite) {
        self.suites.push(suite);
    }

    /// Does something that later suites need, as a suite of one test; none when it fails.
    pub(crate) fn step<T>(&mut self, name: &'static str, step: impl FnOnce() -> Result<T>) -> Option<T> {
        let mut result = None;
        self.add(suite::timed(name, || match step() {
            Ok(value) => {
                result = Some(value);
                suite::one(true)
            }
            Err(error) => {
                println!("{name} failed: {error:#}");
                suite::one(false)
            }
        }));
        result
    }

    /// Says that a suite does not run, and why.
    pub(crate) fn skip(&mut self, name: &'static str, reason: &str) {
        self.add(suite::timed(name, || Outcome::SKIPPED));
        println!("SKIPPED {name}: {reason}");
    }

    fn total(&self) -> Outcome {
        let mut total = Outcome::default();
        self.suites.iter().for_each(|suite| total += suite.outcome());
        total
    }

    /// Prints what each suite took and, as the last line, how many tests passed, failed and were skipped.
    pub(crate) fn finish(self) -> ExitCode {
        println!();
        for suite in &self.suites {
            println!("{:>20}  {:>4} s  {}", suite.name(), suite.seconds(), suite.outcome());
        }
        println!("{:>20}  {:>4} s", "all", self.started.elapsed().as_secs());
        let total = self.total();
        println!("{total}");
        if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn a_step_that_fails_is_a_failed_suite_and_gives_nothing() {
        let mut suites = Suites::start();
        assert_eq!(suites.step("build of a", || Ok(3)), Some(3));
        assert_eq!(suites.step("build of b", || -> Result<()> { bail!("it does not compile") }), None);
        suites.add(suite::timed("b", || Outcome::SKIPPED));
        assert_eq!(suites.total(), Outcome { passed: 1, failed: 1, skipped: 1 });
        assert_eq!(suites.finish(), ExitCode::FAILURE);
    }

    #[test]
    fn what_is_skipped_fails_nothing() {
        let mut suites = Suites::start();
        suites.add(suite::timed("conformance", || Outcome::SKIPPED));
        assert_eq!(suites.finish(), ExitCode::SUCCESS);
    }
}
