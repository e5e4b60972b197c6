//! What Rust's test harness prints with `--show-output`, as numbers and as the tests that did not run.

use std::collections::BTreeSet;

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

/// How the harness ends when tests have failed.
pub(crate) const FAILED_TESTS: i32 = 101;

/// Whether the harness came to its end and counted.
pub(crate) fn is_whole(output: &str) -> bool {
    output.lines().any(|line| line.starts_with("test result: "))
}

/// The names in what `--list --format terse` prints: `NAME: test`.
pub(crate) fn listed(output: &str) -> Vec<String> {
    output.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// Those of `tests` that have not passed: they failed, or the process died before they were over.
pub(crate) fn not_passed(tests: &[String], output: &str) -> Vec<String> {
    let passed = passed(output);
    tests.iter().filter(|test| !passed.contains(test.as_str())).cloned().collect()
}

/// The tests that passed: by the line that says so at once, and by the list at the end.
fn passed(output: &str) -> BTreeSet<&str> {
    let mut passed: BTreeSet<&str> =
        output.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok")).collect();
    let mut among_successes = false;
    for line in output.lines() {
        match line {
            "successes:" => among_successes = true,
            "failures:" => among_successes = false,
            _ => passed.extend(line.strip_prefix("    ").filter(|_| among_successes)),
        }
    }
    passed
}

/// What a test printed, as `--show-output` shows it; nothing when the process died before the end.
pub(crate) fn output_of<'a>(output: &'a str, test: &str) -> &'a str {
    let begin = format!("---- {test} stdout ----\n");
    let Some((_, rest)) = output.split_once(&begin) else { return "" };
    let ends = ["\n---- ", "\nfailures:\n", "\nsuccesses:\n"];
    let end = ends.into_iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
    rest[..end].trim_end()
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
    fn tests_are_known_by_name() {
        assert_eq!(listed("a::one: test\ntwo: test\n\n2 tests, 0 benchmarks\n"), ["a::one", "two"]);
    }

    #[test]
    fn a_test_without_a_good_end_has_not_passed() {
        let tests = ["a::one", "two", "three", "four"].map(str::to_owned);
        let output = "test a::one ... ok\ntest two ... noise\nok\ntest three ... FAILED\n\nsuccesses:\n\n\
                      successes:\n    a::one\n    two\n\nfailures:\n\n---- three stdout ----\n    four\n\n\
                      failures:\n    three\n";
        assert_eq!(not_passed(&tests, output), ["three", "four"]);
        let died = "test a::one ... ok\ntest two ... ";
        assert_eq!(not_passed(&tests, died), ["two", "three", "four"]);
    }

    #[test]
    fn what_one_test_printed_is_told_from_what_others_did() {
        let output = "failures:\n\n---- a::one stdout ----\nfirst\nsecond\n\n---- two stdout ----\nthird\n\n\n\
                      failures:\n    a::one\n    two\n";
        assert_eq!(output_of(output, "a::one"), "first\nsecond");
        assert_eq!(output_of(output, "two"), "third");
        assert_eq!(output_of(output, "three"), "");
    }

    #[test]
    fn a_test_that_failed_was_not_skipped() {
        let output = "successes:\n\nsuccesses:\n    a\n\nfailures:\n\n---- b stdout ----\nSKIPPED b: nothing\n\
                      thread 'b' panicked\n\nfailures:\n    b\n\n\
                      test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(outcome(output), Outcome { passed: 1, failed: 1, skipped: 0 });
    }
}
