//! How long each test takes, of a binary that runs them one after the other: measured by when its result appears in the
//! log, as the harness of stable Rust does not report times.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often the log is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// How many of the slowest are named.
const NAMED: usize = 10;

/// The tests that have ended, with how long each took.
#[derive(Debug)]
pub(crate) struct Durations {
    since: Instant,
    ended: Vec<(String, Duration)>,
}

impl Durations {
    fn begin(now: Instant) -> Self {
        Self { since: now, ended: Vec::new() }
    }

    /// Looks at a log until `over` is closed.
    pub(crate) fn follow(log: &Path, over: &Receiver<()>) -> Self {
        let mut durations = Self::begin(Instant::now());
        loop {
            let goes_on = over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout);
            // One that cannot be read is read as soon as it can.
            let text = fs::read(log).unwrap_or_default();
            durations.learn(&String::from_utf8_lossy(&text), Instant::now());
            if !goes_on {
                return durations;
            }
        }
    }

    /// Takes in what the log says at `now`. Of several tests that have ended since the last look the first took the time.
    fn learn(&mut self, log: &str, now: Instant) {
        for name in log.lines().filter_map(ended).skip(self.ended.len()) {
            self.ended.push((name.to_owned(), now.saturating_duration_since(self.since)));
            self.since = now;
        }
    }

    /// The slowest, a line each.
    pub(crate) fn slowest(&self) -> Vec<String> {
        let mut ended: Vec<_> = self.ended.iter().collect();
        ended.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
        ended.iter().take(NAMED).map(|(name, took)| format!("{:>6} s  {name}", took.as_secs())).collect()
    }
}

/// The test that a line of the harness says the end of: `test NAME ... ok`.
fn ended(line: &str) -> Option<&str> {
    let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    ["ok", "FAILED"].contains(&outcome).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_test_is_named_first() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut durations = Durations::begin(begin);
        durations.learn("running 3 tests\ntest a::one ... ", at(2));
        durations.learn("running 3 tests\ntest a::one ... ok\ntest two ... FAILED\ntest three ... ", at(3));
        durations.learn("test a::one ... ok\ntest two ... FAILED\ntest three ... ok\n\nfailures:\n", at(63));
        assert_eq!(durations.slowest(), ["    60 s  three", "     3 s  a::one", "     0 s  two"]);
    }

    #[test]
    fn what_ends_last_is_known_too() {
        let log = std::env::temp_dir().join(format!("antrea-xtask-durations-{}", std::process::id()));
        fs::write(&log, "test a::one ... ok\n\ntest result: ok. 1 passed\n").unwrap();
        let (over, is_over) = std::sync::mpsc::channel();
        drop(over);
        assert_eq!(Durations::follow(&log, &is_over).slowest(), ["     0 s  a::one"]);
        fs::remove_file(&log).unwrap();
    }

    #[test]
    fn the_line_that_closes_all_is_no_test() {
        assert_eq!(ended("test result: ok. 3 passed; 0 failed"), None);
        assert_eq!(ended("test a::one ... ok"), Some("a::one"));
    }
}
