//! All suites of a run: those that ran, those that could not, and the lines that close it all.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use super::processors::Ticks;
use super::record::Record;
use super::suite::{self, Outcome, Suite};

/// The suites so far, and which are wanted.
#[derive(Debug)]
pub(crate) struct Suites {
    started: Instant,
    before: Ticks,
    /// What the names of wanted suites begin with; empty for all.
    only: Vec<String>,
    /// Whether there was a suite that is wanted.
    has_any: bool,
    /// The suites that need not run, as they have passed at this commit.
    record: Record,
    suites: Vec<Suite>,
}

impl Suites {
    pub(crate) fn start(only: &[String], record: Record) -> Self {
        Self {
            started: Instant::now(),
            before: Ticks::now(),
            only: only.to_vec(),
            has_any: false,
            record,
            suites: Vec::new(),
        }
    }

    /// Whether a suite is to run. One that has passed before is said to have.
    pub(crate) fn wants(&mut self, name: &str) -> bool {
        let is_asked_for =
            self.only.is_empty() || self.only.iter().any(|only| name.starts_with(only.as_str()));
        self.has_any |= is_asked_for;
        let has_passed = self.record.has_passed(name);
        if is_asked_for && has_passed {
            println!("--- {name}\nit has passed at this commit");
        }
        is_asked_for && !has_passed
    }

    /// Runs a suite if it is wanted.
    pub(crate) fn run(&mut self, name: &str, run: impl FnOnce() -> Suite) {
        if self.wants(name) {
            self.add(run());
        }
    }

    pub(crate) fn add(&mut self, suite: Suite) {
        // One with a flaky test runs again, so that no summary hides it.
        let has_passed = suite.outcome.passed > 0 && suite.outcome.failed == 0 && suite.flaky.is_empty();
        if let Err(error) = self.record.add(&suite.name, has_passed) {
            println!("{} will run again: {error:#}", suite.name);
        }
        self.suites.push(suite);
    }

    /// Does something that later suites need, as a suite of one test; none when it fails.
    pub(crate) fn step<T>(&mut self, name: &'static str, step: impl FnOnce() -> Result<T>) -> Option<T> {
        let mut result = None;
        self.suites.push(suite::timed(name, || match step() {
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

    /// Says that a wanted suite does not run, and why.
    pub(crate) fn skip(&mut self, name: &str, reason: &str) {
        if self.wants(name) {
            self.suites.push(suite::timed(name, || Outcome::SKIPPED));
            println!("SKIPPED {name}: {reason}");
        }
    }

    fn total(&self) -> Outcome {
        let mut total = Outcome::default();
        self.suites.iter().for_each(|suite| total += suite.outcome);
        total
    }

    /// Prints the flaky tests, what each suite took and, as the last line, how many tests passed, failed and were
    /// skipped.
    pub(crate) fn finish(self) -> ExitCode {
        println!();
        let flaky: Vec<_> = self.suites.iter().flat_map(|suite| &suite.flaky).collect();
        flaky.iter().for_each(|flaky| println!("{flaky}"));
        self.suites.iter().for_each(|suite| println!("{suite}"));
        let (seconds, busy) =
            (self.started.elapsed().as_secs(), Ticks::now().busy_percent_since(self.before));
        println!("{:>20}  {seconds:>4} s  {busy:>3} % busy", "all");
        flaky.iter().for_each(|flaky| println!("FLAKY {}", flaky.test));
        let mut total = self.total();
        if !self.has_any {
            println!("There is no suite {}", self.only.join(", "));
            total.failed += 1;
        }
        println!("{total}");
        if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    fn suites(only: &[&str], passed: &[&str]) -> Suites {
        let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
        Suites::start(&only, Record::of_passed(passed))
    }

    #[test]
    fn a_step_that_fails_is_a_failed_suite_and_gives_nothing() {
        let mut suites = suites(&[], &[]);
        assert_eq!(suites.step("build of a", || Ok(3)), Some(3));
        assert_eq!(suites.step("build of b", || -> Result<()> { bail!("it does not compile") }), None);
        suites.add(suite::timed("b", || Outcome::SKIPPED));
        assert_eq!(suites.total(), Outcome { passed: 1, failed: 1, skipped: 1 });
        assert_eq!(suites.finish(), ExitCode::FAILURE);
    }

    #[test]
    fn what_is_skipped_fails_nothing() {
        let mut suites = suites(&[], &[]);
        suites.skip("conformance", "it is long");
        assert_eq!(suites.total(), Outcome::SKIPPED);
        assert_eq!(suites.finish(), ExitCode::SUCCESS);
    }

    #[test]
    fn a_run_without_any_suite_fails() {
        let mut suites = suites(&["kernle"], &[]);
        assert!(!suites.wants("kernel"));
        assert_eq!(suites.finish(), ExitCode::FAILURE);
    }

    #[test]
    fn suites_run_that_are_asked_for_and_have_not_passed() {
        let mut suites = suites(&["lab", "kernel"], &["lab services"]);
        let wanted = ["unit", "kernel", "lab services", "lab policies"].map(|name| suites.wants(name));
        assert_eq!(wanted, [false, true, false, true]);
    }
}
