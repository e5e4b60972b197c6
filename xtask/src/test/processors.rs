//! How much of the time the machine's processors work: `/proc/stat` (proc(5)).

use std::fs;

/// Processor time since boot, all processors together, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    busy: u64,
    idle: u64,
}

impl Ticks {
    /// Up to now; nothing where the kernel does not say.
    pub(crate) fn now() -> Self {
        Self::parse(&fs::read_to_string("/proc/stat").unwrap_or_default()).unwrap_or_default()
    }

    /// The first line is `cpu user nice system idle iowait irq softirq steal …`. Time that another machine took from a
    /// virtual one counts as busy: nobody here could have used it.
    fn parse(stat: &str) -> Option<Self> {
        let numbers = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
        let ticks: Vec<u64> = numbers.map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let idle: u64 = ticks.get(3..5)?.iter().sum();
        Some(Self { busy: ticks.iter().sum::<u64>().saturating_sub(idle), idle })
    }

    /// The share of the time since `earlier` in which processors worked, in percent.
    pub(crate) fn busy_percent_since(self, earlier: Self) -> u64 {
        let busy = self.busy.saturating_sub(earlier.busy);
        let all = busy + self.idle.saturating_sub(earlier.idle);
        (busy * 100).checked_div(all).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_the_disk_is_idle_and_stolen_time_is_busy() {
        let stat = |line: &str| Ticks::parse(&format!("{line}\ncpu0 1 2\n")).unwrap();
        let earlier = stat("cpu  10 0 10 100 0 0 0 0 0 0");
        let later = stat("cpu  20 1 20 150 10 2 3 14 99 99");
        assert_eq!(later.busy_percent_since(earlier), 40);
        assert_eq!(earlier.busy_percent_since(earlier), 0);
        assert_eq!(Ticks::parse("intr 1 2 3"), None);
    }
}
