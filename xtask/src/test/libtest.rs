//! What Rust's test harness prints, as numbers.

use super::suite::Outcome;

/// A test that cannot run on this machine prints a line that begins with this, says why, and returns.
pub(crate) const SKIPPED: &str = "SKIPPED ";

/// Adds up the closing lines of the harness; tests that said they were skipped do not count as passed.
pub(crate) fn outcome(output: &str) -> Outcome {
    let mut outcome = Outcome::default();
    for line in output.lines() {
        if let Some(counts) = line.strip_prefix("test result: ") {
            outcome.passed += count(counts, "passed");
            outcome.failed += count(counts, "failed");
            outcome.skipped += count(counts, "ignored");
        }
    }
    let said = output.lines().filter(|line| line.starts_with(SKIPPED)).count();
    outcome.passed = outcome.passed.saturating_sub(said);
    outcome.skipped += said;
    outcome
}

/// The number that stands before `word`, as in `3 passed; 0 failed`.
fn count(counts: &str, word: &str) -> usize {
    let words: Vec<&str> = counts.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
    words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_binaries_add_up() {
        let output = "running 3 tests\n\
                      test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                      test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        assert_eq!(outcome(output), Outcome { passed: 4, failed: 2, skipped: 1 });
    }

    #[test]
    fn a_skipped_test_did_not_pass() {
        let output = "SKIPPED kernel_datapath: the kernel has no module openvswitch\n\
                      test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        assert_eq!(outcome(output), Outcome { passed: 1, failed: 0, skipped: 1 });
    }
}
