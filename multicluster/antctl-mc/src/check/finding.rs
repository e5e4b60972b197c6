//! What a check found: each failure with its cause and what mends it.

use std::fmt::Write;

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is well, and what was looked at.
    Passed(String),
    /// Something is wrong.
    Failed { cause: String, fix: String },
    /// There was nothing to look at.
    Skipped(String),
}

/// A check and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) check: &'static str,
    pub(crate) outcome: Outcome,
}

impl Finding {
    pub(crate) fn passed(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Passed(what.into()) }
    }

    pub(crate) fn failed(check: &'static str, cause: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Failed { cause: cause.into(), fix: fix.into() } }
    }

    pub(crate) fn skipped(check: &'static str, why: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Skipped(why.into()) }
    }

    pub(crate) fn is_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed { .. })
    }
}

/// One line for each, and one more with what mends a failure.
pub(crate) fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { check, outcome } in findings {
        // Writing to a String cannot fail.
        let _ = match outcome {
            Outcome::Passed(what) => writeln!(text, "{check}: passed: {what}"),
            Outcome::Skipped(why) => writeln!(text, "{check}: skipped: {why}"),
            Outcome::Failed { cause, fix } => writeln!(text, "{check}: FAILED: {cause}\n  {fix}"),
        };
    }
    text
}
