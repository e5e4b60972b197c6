//! What was drawn and asked, as a table.

use std::collections::BTreeMap;
use std::fmt;

use antrea_policy_reference::Coverage;

use crate::outcome::Outcome;
use crate::packets::{Packet, Path};

/// Counts over any number of clusters.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) coverage: Coverage,
    /// States of the switches that were asked.
    pub(crate) states: usize,
    /// Bundles that changed flows which were there, and flows in them.
    pub(crate) changes: usize,
    pub(crate) changed_flows: usize,
    passed: BTreeMap<Path, usize>,
    denied: BTreeMap<Path, usize>,
}

impl Tally {
    pub(crate) fn count_packet(&mut self, packet: &Packet) {
        let denied = matches!(packet.expected, Outcome::DeniedAtEgress | Outcome::DeniedAtIngress);
        let counts = if denied { &mut self.denied } else { &mut self.passed };
        *counts.entry(packet.path).or_default() += 1;
    }

    fn of(counts: &BTreeMap<Path, usize>, path: Path) -> usize {
        counts.get(&path).copied().unwrap_or_default()
    }

    /// Traces, and how many of a hundred were denied.
    pub(crate) fn packets(&self) -> (usize, usize) {
        let (passed, denied): (usize, usize) = (self.passed.values().sum(), self.denied.values().sum());
        (passed + denied, (denied * 100).checked_div(passed + denied).unwrap_or(0))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.coverage)?;
        let Self { states, changes, changed_flows, .. } = self;
        writeln!(f, "{states} states, {changes} changes of {changed_flows} flows in place")?;
        let (packets, percent) = self.packets();
        writeln!(f, "{packets} traces, {percent} % denied:")?;
        for path in self.passed.keys() {
            let (passed, denied) = (Self::of(&self.passed, *path), Self::of(&self.denied, *path));
            writeln!(f, "  {:<20} {passed:>8} pass {denied:>8} denied", path.to_string())?;
        }
        Ok(())
    }
}
