//! How long each of many answers took.

use std::fmt;
use std::time::Duration;

/// How long each of many answers took, in order of length.
#[derive(Debug, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.0.extend(other.0);
        self.0.sort_unstable();
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn longest(&self) -> Duration {
        self.percentile(100)
    }

    /// By nearest rank: the shortest that so many of 100 do not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [half, most, longest] = [50, 99, 100].map(|percent| self.percentile(percent).as_millis());
        write!(f, "{half} / {most} / {longest} ms")
    }
}

#[test]
fn percentiles_are_those_of_nearest_rank() {
    let millis = |all: &[u64]| Times::of(all.iter().map(|time| Duration::from_millis(*time)).collect());
    assert_eq!(millis(&[3, 1, 2]).to_string(), "2 / 3 / 3 ms");
    let hundred: Vec<u64> = (1..=100).collect();
    assert_eq!(millis(&hundred).to_string(), "50 / 99 / 100 ms");
    assert_eq!(Times::default().longest(), Duration::ZERO);
}
