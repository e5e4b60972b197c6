//! What became of the specs of a run: read from the lines that the suite writes, told as lines for people.

use std::fmt;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// A line of the suite: how many specs there will be, or what became of one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Line {
    Planned { planned: usize },
    Spec(Spec),
}

/// What became of a spec.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Spec {
    #[serde(rename = "spec")]
    name: String,
    state: String,
    #[serde(default)]
    seconds: f64,
    #[serde(default)]
    reason: String,
}

/// The specs of a run so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Report {
    planned: usize,
    specs: Vec<Spec>,
}

/// How a spec counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    /// The spec itself found that it cannot run here.
    NotRun,
}

impl Spec {
    fn verdict(&self) -> Verdict {
        match self.state.as_str() {
            "passed" => Verdict::Passed,
            "skipped" => Verdict::NotRun,
            // Timed out, panicked, interrupted, aborted.
            _ => Verdict::Failed,
        }
    }

    fn first_reason(&self) -> &str {
        self.reason.lines().next().unwrap_or_default()
    }
}

impl Report {
    /// Takes a line of the suite, and returns the one to print for it.
    pub(super) fn take(&mut self, line: &str) -> Result<Option<String>> {
        let read = serde_json::from_str(line).with_context(|| format!("the suite wrote {line:?}"))?;
        match read {
            Line::Planned { planned } => {
                self.planned = planned;
                Ok(None)
            }
            Line::Spec(spec) => {
                let known = self.specs.iter().any(|other| other.name == spec.name);
                ensure!(!known, "the suite reported {:?} twice", spec.name);
                let shown = spec.to_string();
                self.specs.push(spec);
                Ok(Some(shown))
            }
        }
    }

    /// How many specs were to run.
    pub(super) fn planned(&self) -> usize {
        self.planned
    }

    pub(crate) fn passed(&self) -> usize {
        self.count(Verdict::Passed)
    }

    /// Those that failed, and those of which nothing was heard.
    pub(crate) fn failed(&self) -> usize {
        self.count(Verdict::Failed) + self.lost()
    }

    /// Whether a spec has said that it failed, while others may still run.
    pub(super) fn has_failed_spec(&self) -> bool {
        self.count(Verdict::Failed) > 0
    }

    pub(crate) fn not_run(&self) -> usize {
        self.count(Verdict::NotRun)
    }

    /// Whether nothing failed, and something passed.
    pub(crate) fn is_good(&self) -> bool {
        self.failed() == 0 && self.passed() > 0
    }

    fn lost(&self) -> usize {
        self.planned.saturating_sub(self.specs.len())
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.of(verdict).count()
    }

    fn of(&self, verdict: Verdict) -> impl Iterator<Item = &Spec> {
        self.specs.iter().filter(move |spec| spec.verdict() == verdict)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.verdict() {
            Verdict::Passed => "✓",
            Verdict::Failed => "✗",
            Verdict::NotRun => "-",
        };
        write!(f, "{mark} {:>6.1} s  {}", self.seconds, self.name)?;
        match self.first_reason() {
            "" => Ok(()),
            reason => write!(f, "\n             {}: {reason}", self.state),
        }
    }
}

/// What failed and what cannot run here, with the reasons; the last line counts.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (title, verdict) in [("failed", Verdict::Failed), ("cannot run here", Verdict::NotRun)] {
            for spec in self.of(verdict) {
                writeln!(f, "{title}: {}: {}", spec.name, spec.first_reason())?;
            }
        }
        if self.lost() > 0 {
            writeln!(f, "failed: {} specs without a result", self.lost())?;
        }
        write!(f, "{} passed, {} failed, {} not run", self.passed(), self.failed(), self.not_run())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(lines: &[&str]) -> Report {
        let mut report = Report::default();
        lines.iter().for_each(|line| drop(report.take(line).unwrap()));
        report
    }

    const PASSED: &str =
        r#"{"spec":"[sig-network] DNS works [Conformance]","state":"passed","seconds":12.34}"#;
    const FAILED: &str = r#"{"spec":"[sig-network] Services work","state":"failed","seconds":130,"reason":"no answer\nstack"}"#;
    const SKIPPED: &str = r#"{"spec":"[sig-network] SCTP","state":"skipped","reason":"no SCTP here"}"#;

    #[test]
    fn each_spec_is_a_line_with_its_time_and_reason() {
        let mut report = Report::default();
        assert_eq!(report.take(r#"{"planned":3}"#).unwrap(), None);
        let lines: Vec<String> =
            [PASSED, FAILED, SKIPPED].iter().map(|line| report.take(line).unwrap().unwrap()).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        ✓   12.3 s  [sig-network] DNS works [Conformance]
        ✗  130.0 s  [sig-network] Services work
                     failed: no answer
        -    0.0 s  [sig-network] SCTP
                     skipped: no SCTP here
        ");
    }

    #[test]
    fn the_last_line_counts() {
        insta::assert_snapshot!(report(&[r#"{"planned":3}"#, PASSED, FAILED, SKIPPED]), @r"
        failed: [sig-network] Services work: no answer
        cannot run here: [sig-network] SCTP: no SCTP here
        1 passed, 1 failed, 1 not run
        ");
    }

    #[test]
    fn a_spec_of_which_nothing_was_heard_failed() {
        let broken = report(&[r#"{"planned":2}"#, PASSED]);
        assert_eq!((broken.failed(), broken.is_good()), (1, false));
        insta::assert_snapshot!(broken, @r"
        failed: 1 specs without a result
        1 passed, 1 failed, 0 not run
        ");
    }

    #[test]
    fn a_run_in_which_nothing_passed_is_not_good() {
        assert!(!Report::default().is_good());
        assert!(!report(&[r#"{"planned":1}"#, SKIPPED]).is_good());
        assert!(report(&[r#"{"planned":2}"#, PASSED, SKIPPED]).is_good());
    }

    #[test]
    fn every_word_of_ginkgo_that_is_no_success_is_a_failure() {
        for state in ["failed", "timedout", "panicked", "interrupted", "aborted", "pending"] {
            let line = format!(r#"{{"spec":"a","state":"{state}"}}"#);
            assert_eq!(report(&[&line]).failed(), 1, "{state}");
        }
    }

    #[test]
    fn a_spec_that_ends_twice_is_an_error() {
        let error = report(&[PASSED]).take(PASSED).unwrap_err().to_string();
        assert_eq!(error, "the suite reported \"[sig-network] DNS works [Conformance]\" twice");
    }

    #[test]
    fn a_line_that_says_nothing_is_an_error() {
        assert!(Report::default().take(r#"{"state":"passed"}"#).is_err());
    }
}
