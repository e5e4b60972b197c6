//! What Rust's test harness prints with `--show-output`, as numbers and as the tests that did not run.

use super::suite::Outcome;

/// What a test prints by `println!` before it returns when it cannot run here: `SKIPPED TEST: REASON`. The harness
/// keeps what a test prints and shows it under the test's name, however many run at the same time.
const SKIPPED: &str = "SKIPPED ";

/// A test that said it was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skipped<'a> {
    pub(crate) test: &'a str,
    pub(crate) reason: &'a str,
}

/// Adds up the closing lines of the harness; tests that said they were skipped do not count as passed.
pub(crate) fn outcome(output: &str) -> Outcome {
    let mut outcome = Outcome::default();
    for counts in output.lines().filter_map(|line| line.strip_prefix("test result: ")) {
        outcome.passed += count(counts, "passed");
        outcome.failed += count(counts, "failed");
        outcome.skipped += count(counts, "ignored");
    }
    let said = skipped(output).len();
    outcome.passed = outcome.passed.saturating_sub(said);
    outcome.skipped += said;
    outcome
}

/// The tests that said they were skipped, each once. One that failed afterwards is a failure and nothing else.
pub(crate) fn skipped(output: &str) -> Vec<Skipped<'_>> {
    let (mut skipped, mut test, mut failures) = (Vec::new(), None, false);
    for line in output.lines() {
        match line {
            "successes:" => (test, failures) = (None, false),
            "failures:" => (test, failures) = (None, true),
            _ => {}
        }
        if let Some(name) = shown_test(line) {
            test = Some(name).filter(|_| !failures);
        } else if let (Some(name), Some(said)) = (test, line.strip_prefix(SKIPPED)) {
            let reason = said.split_once(": ").map_or(said, |(_, reason)| reason);
            skipped.push(Skipped { test: name, reason });
            test = None;
        }
    }
    skipped
}

/// The test whose output follows: `---- NAME stdout ----`.
fn shown_test(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// The number that stands before `word`, as in `3 passed; 0 failed`.
fn count(counts: &str, word: &str) -> usize {
    let words: Vec<&str> = counts.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
    words
        .windows(2)
        .find_map(|pair| if let [number, unit] = pair { (*unit == word).then_some(*number) } else { None })
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_PASSED: &str = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";

    #[test]
    fn results_of_several_binaries_add_up() {
        let output = "running 3 tests\n\
                      test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                      test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        assert_eq!(outcome(output), Outcome { passed: 4, failed: 2, skipped: 1 });
    }

    #[test]
    fn a_skipped_test_did_not_pass() {
        let output = format!(
            "test a::one ... ok\ntest two ... ok\n\nsuccesses:\n\n---- a::one stdout ----\nfirst\n\
             SKIPPED one: no module: openvswitch\nSKIPPED one: again\n\n---- two stdout ----\nhello\n\n\n\
             successes:\n    a::one\n    two\n\n{TWO_PASSED}"
        );
        assert_eq!(outcome(&output), Outcome { passed: 1, failed: 0, skipped: 1 });
        assert_eq!(skipped(&output), [Skipped { test: "a::one", reason: "no module: openvswitch" }]);
    }

    #[test]
    fn a_test_that_failed_was_not_skipped() {
        let output = "successes:\n\nsuccesses:\n    a\n\nfailures:\n\n---- b stdout ----\nSKIPPED b: nothing\n\
                      thread 'b' panicked\n\nfailures:\n    b\n\n\
                      test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(outcome(output), Outcome { passed: 1, failed: 1, skipped: 0 });
    }
}
