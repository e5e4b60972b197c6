//! The conformance suites as one suite: each of their specs is a test.

use super::suite::{self, Outcome, Suite};
use crate::conformance::{self, Report};

pub(crate) const NAME: &str = "conformance";

/// Runs every suite to its end; one that breaks counts as a failure.
pub(crate) fn run() -> Suite {
    suite::timed(NAME, || {
        let mut outcome = Outcome::default();
        for name in conformance::names() {
            outcome += match conformance::all_of(name) {
                Ok(report) => outcome_of(&report),
                Err(error) => {
                    println!("conformance {name}: {error:#}");
                    suite::one(false)
                }
            };
        }
        outcome
    })
}

fn outcome_of(report: &Report) -> Outcome {
    Outcome { passed: report.passed(), failed: report.failed(), skipped: report.not_run() }
}
