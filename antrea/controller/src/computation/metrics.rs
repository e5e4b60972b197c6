//! How often objects of each kind were computed, how long that took and what waits for it, under upstream's names.
//!
//! Upstream has a queue for each kind, and times each object. Here one round computes all that changed, of all three
//! kinds: its time is told of each kind of which it had something to tell, and what waits is the same for all.

use std::time::Duration;

use antrea_kit::metrics::{Histogram, Page};
use antrea_policy::Update;

/// Up to where the buckets of durations go, in milliseconds: as upstream's.
const BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// What was computed.
#[derive(Default)]
pub(super) struct Computed {
    pub(super) policies: OfKind,
    pub(super) address_groups: OfKind,
    pub(super) applied_to_groups: OfKind,
}

/// The same of one kind.
pub(super) struct OfKind {
    /// How often an object was computed, in all rounds and in those that were timed.
    pub(super) objects: u64,
    timed: u64,
    rounds: Histogram,
}

impl Default for OfKind {
    fn default() -> Self {
        Self { objects: 0, timed: 0, rounds: Histogram::new(&BUCKETS) }
    }
}

impl Computed {
    pub(super) const fn learn(&mut self, update: &Update) {
        match update {
            Update::Policy(_) => self.policies.objects += 1,
            Update::AddressGroup(_) => self.address_groups.objects += 1,
            Update::AppliedToGroup(_) => self.applied_to_groups.objects += 1,
            Update::Pods(_) => {}
        }
    }

    /// The round in which the latest were computed is over.
    pub(super) fn time(&mut self, took: Duration) {
        for kind in [&mut self.policies, &mut self.address_groups, &mut self.applied_to_groups] {
            if kind.timed != kind.objects {
                kind.timed = kind.objects;
                kind.rounds.observe(took.as_secs_f64() * 1000.0);
            }
        }
    }

    /// `waiting` are changes that the computation has not taken in yet.
    pub(super) fn print(&self, page: &mut Page, waiting: usize) {
        let kinds = [
            ("address_group", &self.address_groups),
            ("applied_to_group", &self.applied_to_groups),
            ("network_policy", &self.policies),
        ];
        for (what, kind) in kinds {
            let name = format!("antrea_controller_{what}_processed");
            page.counter(&name, &format!("How often an object of this kind was computed: {what}."));
            page.sample(&name, &[], kind.objects);
            let name = format!("antrea_controller_{what}_sync_duration_milliseconds");
            let help =
                format!("From taking changes in until all watchers were told, of rounds with a {what}.");
            page.histogram(&name, &help, &kind.rounds);
            let name = format!("antrea_controller_length_{what}_queue");
            page.gauge(
                &name,
                "Changes of the cluster that the computation has not taken in yet, whatever they are of.",
            );
            page.sample(&name, &[], waiting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_timed_for_the_kinds_that_it_had_something_of() {
        let mut computed = Computed::default();
        computed.address_groups.objects += 2;
        computed.time(Duration::from_micros(300));
        computed.address_groups.objects += 1;
        computed.policies.objects += 1;
        computed.time(Duration::from_micros(700));
        computed.time(Duration::from_micros(900));
        let mut page = Page::default();
        computed.print(&mut page, 3);
        let page = page.into_text();
        for line in [
            "antrea_controller_address_group_processed 3",
            "antrea_controller_address_group_sync_duration_milliseconds_count 2",
            "antrea_controller_address_group_sync_duration_milliseconds_bucket{le=\"0.5\"} 1",
            "antrea_controller_network_policy_sync_duration_milliseconds_count 1",
            "antrea_controller_applied_to_group_sync_duration_milliseconds_count 0",
            "antrea_controller_length_address_group_queue 3",
            "antrea_controller_length_applied_to_group_queue 3",
            "antrea_controller_length_network_policy_queue 3",
        ] {
            assert!(page.lines().any(|other| other == line), "{line} is not in {page}");
        }
    }
}
