//! All suites of a run: those that ran, those that could not, and the lines that close it all.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, ensure};

use super::flaky::LastRun;
use super::processors::Ticks;
use super::record::Record;
use super::suite::{self, Outcome, Suite};

/// Those of `names` that begin with one of `only`, or all of them when nothing is asked for.
///
/// # Errors
/// When no name begins with what is asked for.
pub(crate) fn pick(names: &[&'static str], only: &[String]) -> Result<Vec<&'static str>> {
    for asked in only {
        let has_any = names.iter().any(|name| name.starts_with(asked.as_str()));
        ensure!(has_any, "no suite matches --only {asked}; suites are: {}", names.join(", "));
    }
    let is_asked_for =
        |name: &&str| only.is_empty() || only.iter().any(|asked| name.starts_with(asked.as_str()));
    Ok(names.iter().copied().filter(is_asked_for).collect())
}

/// The suites so far, and which are wanted.
#[derive(Debug)]
pub(crate) struct Suites {
    started: Instant,
    before: Ticks,
    wanted: Vec<&'static str>,
    record: Record,
    last_run: LastRun,
    suites: Vec<Suite>,
}

impl Suites {
    /// Begins a run of those that are asked for and have not passed at this commit.
    pub(crate) fn start(asked_for: Vec<&'static str>, record: Record, last_run: LastRun) -> Self {
        let (passed, wanted): (Vec<_>, Vec<_>) =
            asked_for.into_iter().partition(|name| record.has_passed(name));
        passed.iter().for_each(|name| println!("--- {name}\nalready passed at this commit, not run again"));
        Self { started: Instant::now(), before: Ticks::now(), wanted, record, last_run, suites: Vec::new() }
    }

    pub(crate) fn wants(&self, name: &str) -> bool {
        self.wanted.contains(&name)
    }

    pub(crate) fn wants_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.wants(name))
    }

    /// Runs a suite if it is wanted.
    pub(crate) fn run(&mut self, name: &str, run: impl FnOnce() -> Suite) {
        if self.wants(name) {
            self.add(run());
        }
    }

    pub(crate) fn add(&mut self, mut suite: Suite) {
        self.fail_what_is_flaky_again(&mut suite);
        // One with a flaky test runs again, so that no summary hides it.
        let has_passed = suite.outcome.passed > 0 && suite.outcome.failed == 0 && suite.flaky.is_empty();
        if let Err(error) = self.record.add(&suite.name, has_passed) {
            println!("{} will run again: {error:#}", suite.name);
        }
        self.suites.push(suite);
    }

    fn fail_what_is_flaky_again(&mut self, suite: &mut Suite) {
        let again = self.last_run.take(&suite.name, &suite.flaky).unwrap_or_else(|error| {
            println!("the next run will not know what was flaky in this one: {error:#}");
            Vec::new()
        });
        again.iter().for_each(|test| println!("FAILED {test}: it was flaky in the last run, too"));
        suite.outcome.failed += again.len();
        suite.outcome.passed = suite.outcome.passed.saturating_sub(again.len());
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
        let total = self.total();
        println!("{total}");
        if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    const NAMES: [&str; 4] = ["unit", "kernel", "lab services", "lab policies"];

    fn suites(passed: &[&str]) -> Suites {
        Suites::start(NAMES.to_vec(), Record::of_passed(passed), LastRun::default())
    }

    #[test]
    fn a_step_that_fails_is_a_failed_suite_and_gives_nothing() {
        let mut suites = suites(&[]);
        assert_eq!(suites.step("build of a", || Ok(3)), Some(3));
        assert_eq!(suites.step("build of b", || -> Result<()> { bail!("it does not compile") }), None);
        suites.add(suite::timed("b", || Outcome::SKIPPED));
        assert_eq!(suites.total(), Outcome { passed: 1, failed: 1, skipped: 1 });
        assert_eq!(suites.finish(), ExitCode::FAILURE);
    }

    #[test]
    fn what_is_skipped_fails_nothing() {
        let mut suites = suites(&[]);
        suites.add(suite::timed("kernel", || Outcome::SKIPPED));
        assert_eq!(suites.total(), Outcome::SKIPPED);
        assert_eq!(suites.finish(), ExitCode::SUCCESS);
    }

    #[test]
    fn suites_are_picked_by_how_their_names_begin() {
        let picked = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
            pick(&NAMES, &only).map_err(|error| error.to_string())
        };
        assert_eq!(picked(&[]), Ok(NAMES.to_vec()));
        assert_eq!(picked(&["lab", "kernel"]), Ok(vec!["kernel", "lab services", "lab policies"]));
        assert_eq!(
            picked(&["lab", "kernle"]).unwrap_err(),
            "no suite matches --only kernle; suites are: unit, kernel, lab services, lab policies"
        );
    }

    #[test]
    fn a_suite_that_has_passed_does_not_run_again() {
        let suites = suites(&["lab services"]);
        let wanted = ["unit", "lab services", "demo"].map(|name| suites.wants(name));
        assert_eq!(wanted, [true, false, false]);
        assert!(suites.wants_any(&["demo", "kernel"]) && !suites.wants_any(&["demo", "lab services"]));
    }
}
