//! What came of a test, as people read it.

use std::process::ExitCode;

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// What, and between whom.
    pub(super) what: String,
    /// Why that is, as far as it can be told from outside.
    pub(super) cause: String,
    /// What to do about it.
    pub(super) fix: String,
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It holds; what else was seen.
    Passed(Vec<String>),
    /// It does not; at least one finding.
    Failed(Vec<Finding>),
    /// It says nothing, for this reason.
    NotRun(String),
}

/// A test that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tested {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
}

impl Finding {
    pub(super) fn new(what: impl Into<String>, cause: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), cause: cause.into(), fix: fix.into() }
    }
}

impl Verdict {
    /// Passed when nothing was found.
    pub(super) fn of(findings: Vec<Finding>, notes: Vec<String>) -> Self {
        if findings.is_empty() { Self::Passed(notes) } else { Self::Failed(findings) }
    }
}

/// The lines of a test. `not_run` is the word for a test that says nothing: `skipped`, `uncertain`.
pub(super) fn lines(Tested { name, verdict }: &Tested, not_run: &str) -> Vec<String> {
    match verdict {
        Verdict::Passed(notes) => {
            let notes = notes.iter().map(|note| format!("  {note}"));
            notes.chain([format!("Test {name} passed")]).collect()
        }
        Verdict::NotRun(reason) => vec![format!("Test {name} was {not_run}: {reason}")],
        Verdict::Failed(findings) => {
            let mut lines = vec![format!("Test {name} failed:")];
            // What has the same cause is told with it, once.
            for group in findings.chunk_by(|a, b| (&a.cause, &a.fix) == (&b.cause, &b.fix)) {
                lines.extend(group.iter().map(|finding| format!("  ✗ {}", finding.what)));
                if let Some(Finding { cause, fix, .. }) = group.first() {
                    lines.extend([format!("    Cause: {cause}"), format!("    Fix: {fix}")]);
                }
            }
            lines
        }
    }
}

/// The closing line, and the exit code: tests that say nothing fail nothing.
pub(super) fn summary(tests: &[Tested], not_run: &str) -> (String, ExitCode) {
    let count = |wanted: fn(&Verdict) -> bool| tests.iter().filter(|test| wanted(&test.verdict)).count();
    let passed = count(|verdict| matches!(verdict, Verdict::Passed(_)));
    let failed = count(|verdict| matches!(verdict, Verdict::Failed(_)));
    let other = count(|verdict| matches!(verdict, Verdict::NotRun(_)));
    let line = format!(
        "Test finished: {passed} tests succeeded, {failed} tests failed, {other} tests were {not_run}"
    );
    (line, if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints a test, every line with the name of the cluster before it.
pub(super) fn tell(cluster: &str, test: &Tested, not_run: &str) {
    say(cluster, &format!("Running test: {}", test.name));
    lines(test, not_run).iter().for_each(|line| say(cluster, line));
}

/// Prints the closing line.
pub(super) fn close(cluster: &str, tests: &[Tested], not_run: &str) -> ExitCode {
    let (line, code) = summary(tests, not_run);
    say(cluster, &line);
    code
}

pub(super) fn say(cluster: &str, line: &str) {
    println!("[{cluster}] {line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tested(verdict: Verdict) -> Tested {
        Tested { name: "pod-to-pod", verdict }
    }

    fn finding(what: &str, cause: &str) -> Finding {
        Finding::new(what, cause, "Mend it.")
    }

    #[test]
    fn findings_of_one_cause_are_told_with_it_once() {
        let findings = vec![finding("a → b", "Rain."), finding("b → a", "Rain."), finding("a → c", "Snow.")];
        insta::assert_snapshot!(lines(&tested(Verdict::of(findings, Vec::new())), "skipped").join("\n"), @r"
        Test pod-to-pod failed:
          ✗ a → b
          ✗ b → a
            Cause: Rain.
            Fix: Mend it.
          ✗ a → c
            Cause: Snow.
            Fix: Mend it.
        ");
    }

    #[test]
    fn a_test_that_holds_says_what_else_it_saw() {
        let lines = lines(&tested(Verdict::of(Vec::new(), vec!["by the way".into()])), "skipped");
        assert_eq!(lines, ["  by the way", "Test pod-to-pod passed"]);
    }

    #[test]
    fn only_failures_make_an_exit_code() {
        let not_run = || tested(Verdict::NotRun("no second Node".into()));
        let (line, code) = summary(&[tested(Verdict::Passed(Vec::new())), not_run()], "skipped");
        assert_eq!(line, "Test finished: 1 tests succeeded, 0 tests failed, 1 tests were skipped");
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
        let (line, code) =
            summary(&[tested(Verdict::Failed(vec![finding("a", "b")])), not_run()], "uncertain");
        assert_eq!(line, "Test finished: 0 tests succeeded, 1 tests failed, 1 tests were uncertain");
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::FAILURE));
    }
}
