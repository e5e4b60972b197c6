//! Tests that fail once and pass when they are repeated. Each is a defect of the product or of the test, so it is never
//! silent: docs/benchmarks/gate.md lists those that were found, with their causes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use xtask::project;

/// How often a test that has failed is repeated; it has to pass every time.
pub(crate) const REPEATS: usize = 2;

/// When more tests of a suite fail, something is broken, and repeating them would only take time.
const MOST: usize = 4;

/// How many of the last lines of a failure the summary shows; its log has the rest.
const SHOWN: usize = 60;

/// A test that has failed once and has passed whenever it was repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaky {
    pub(crate) test: String,
    /// What it printed when it failed, the state of its lab included.
    pub(crate) failure: String,
    /// The log of the run in which it failed.
    pub(crate) log: PathBuf,
}

impl fmt::Display for Flaky {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<&str> = before_backtrace(&self.failure).lines().collect();
        writeln!(f, "FLAKY {}: failed once, then passed {REPEATS} times; {}", self.test, self.log.display())?;
        lines[lines.len().saturating_sub(SHOWN)..].iter().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

/// The reason of a failure stands before its backtrace, which is long and in the log.
fn before_backtrace(failure: &str) -> &str {
    let begins = ["\nstack backtrace:", "\n\nStack backtrace:"];
    let end = begins.into_iter().filter_map(|begin| failure.find(begin)).min();
    failure.get(..end.unwrap_or(failure.len())).unwrap_or(failure)
}

/// The tests that were flaky when their suite last ran, by suite. One that is flaky again may fail whenever its suite runs,
/// and pass alone: that is a failure.
#[derive(Debug, Default)]
pub(crate) struct LastRun {
    /// None where nothing is kept.
    path: Option<PathBuf>,
    flaky: BTreeMap<String, BTreeSet<String>>,
}

impl LastRun {
    /// What the last run with this target folder has left.
    pub(crate) fn read() -> Self {
        let path = project::target().join("flaky-tests.json");
        let text = fs::read_to_string(&path).unwrap_or_default();
        Self { path: Some(path), flaky: serde_json::from_str(&text).unwrap_or_default() }
    }

    /// Those of a suite's flaky tests that were flaky in the last run, too. The next run knows these tests instead.
    pub(crate) fn take(&mut self, suite: &str, flaky: &[Flaky]) -> Result<Vec<String>> {
        let now: BTreeSet<String> = flaky.iter().map(|flaky| flaky.test.clone()).collect();
        let before = self.flaky.insert(suite.to_owned(), now.clone()).unwrap_or_default();
        if let Some(path) = &self.path {
            fs::write(path, serde_json::to_vec(&self.flaky)?)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(before.intersection(&now).cloned().collect())
    }
}

/// Repeats tests that have failed, and returns those that pass every time. `passes` runs one in a new process, and so
/// on a new lab, for the first or second time.
pub(crate) fn repeat(failed: &[String], mut passes: impl FnMut(&str, usize) -> bool) -> Vec<&str> {
    if failed.len() > MOST {
        println!("{} tests failed, which is more than {MOST}: none is repeated", failed.len());
        return Vec::new();
    }
    let mut passes_every_time = |test: &&str| {
        (1..=REPEATS).all(|number| {
            println!("repeating {test} on a new lab, {number} of {REPEATS}");
            passes(test, number)
        })
    };
    failed.iter().map(String::as_str).filter(|test| passes_every_time(test)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(failed: &[&str], results: &[bool]) -> (Vec<String>, usize) {
        let failed: Vec<String> = failed.iter().map(|test| (*test).to_owned()).collect();
        let mut runs = 0;
        let flaky = repeat(&failed, |_, _| {
            runs += 1;
            results[runs - 1]
        });
        (flaky.into_iter().map(str::to_owned).collect(), runs)
    }

    #[test]
    fn a_test_is_flaky_when_both_repeats_pass() {
        assert_eq!(repeated(&["a"], &[true, true]), (vec!["a".to_owned()], 2));
        assert_eq!(repeated(&["a"], &[true, false]), (Vec::new(), 2));
        assert_eq!(repeated(&["a", "b"], &[false, true, true]), (vec!["b".to_owned()], 3));
    }

    #[test]
    fn a_test_that_is_flaky_in_two_runs_in_a_row_is_named() {
        let flaky = |test: &str| Flaky { test: test.into(), failure: String::new(), log: PathBuf::new() };
        let mut last = LastRun::default();
        let mut take = |suite, tests: &[&str]| {
            last.take(suite, &tests.iter().map(|test| flaky(test)).collect::<Vec<_>>()).unwrap()
        };
        assert!(take("lab", &["a", "b"]).is_empty() && take("kernel", &["c"]).is_empty());
        assert_eq!(take("lab", &["b", "d"]), ["b"]);
        assert!(take("lab", &[]).is_empty());
        assert!(take("lab", &["b"]).is_empty(), "it passed in between");
        assert_eq!(take("kernel", &["c"]), ["c"]);
    }

    #[test]
    fn when_many_tests_fail_none_is_repeated() {
        assert_eq!(repeated(&["a", "b", "c", "d", "e"], &[]), (Vec::new(), 0));
    }

    #[test]
    fn the_summary_shows_the_end_of_the_failure() {
        let failure: String = (1..=100).map(|number| format!("line {number}\n")).collect();
        let failure = failure + "stack backtrace:\n   0: main\n";
        let text = Flaky { test: "a::b".into(), failure, log: "/logs/lab.log".into() }.to_string();
        assert!(
            text.starts_with("FLAKY a::b: failed once, then passed 2 times; /logs/lab.log\n    line 41\n"),
            "{text}"
        );
        assert!(text.ends_with("    line 100\n"));
    }
}
