//! Members that come, fall silent, and return; leaders that were away.

use std::fmt::Write;
use std::time::{Duration, Instant};

use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::membership::{Change, Event, LeaseTimes, Membership, Standing};

/// A leader and the time by its clock.
struct Leader {
    membership: Membership,
    start: Instant,
    now: Instant,
    beats: u64,
    log: String,
}

impl Leader {
    /// One that has read all announces that there are: none.
    fn new() -> Self {
        let mut leader = Self::starting();
        leader.step(Event::Listening);
        leader
    }

    /// One that has read none yet.
    fn starting() -> Self {
        let times = LeaseTimes { silent_after: Duration::from_secs(30), lease: Duration::from_secs(120) };
        let now = Instant::now();
        Self { membership: Membership::new(times), start: now, now, beats: 0, log: String::new() }
    }

    fn step(&mut self, event: Event) {
        let at = self.now.duration_since(self.start).as_secs();
        for change in self.membership.step(event, self.now) {
            match change {
                Change::Stands { cluster, before: None, now } => writeln!(self.log, "{at} {cluster} {now:?}"),
                Change::Stands { cluster, before: Some(before), now } => {
                    writeln!(self.log, "{at} {cluster} {before:?} -> {now:?}")
                }
                Change::Left(cluster) => writeln!(self.log, "{at} {cluster} left"),
                Change::Abandoned(cluster) => writeln!(self.log, "{at} {cluster} abandoned"),
            }
            .unwrap();
        }
    }

    fn beat(&mut self, cluster: &str) {
        self.beats += 1;
        self.announce(cluster, &self.beats.to_string(), None);
    }

    fn announce(&mut self, cluster: &str, touch: &str, earlier: Option<Standing>) {
        self.step(Event::Announce { cluster: id(cluster), touch: Some(touch.to_owned()), earlier });
    }

    /// Seconds go by; every ten of them the members send heartbeats.
    fn wait(&mut self, seconds: u64, alive: &[&str]) {
        for second in 1..=seconds {
            self.now += Duration::from_secs(1);
            self.step(Event::Tick);
            if second % 10 == 0 {
                alive.iter().for_each(|cluster| self.beat(cluster));
            }
        }
    }

    fn log(&mut self) -> String {
        std::mem::take(&mut self.log)
    }
}

fn id(cluster: &str) -> ClusterId {
    cluster.parse().unwrap()
}

#[test]
fn a_member_falls_silent_loses_its_lease_and_returns() {
    let mut leader = Leader::new();
    leader.beat("east");
    leader.beat("west");
    leader.wait(20, &["east", "west"]);
    leader.wait(200, &["east"]);
    assert_eq!(leader.membership.withdrawn(), [id("west")].into());
    leader.beat("west");
    leader.step(Event::Leave(id("west")));
    insta::assert_snapshot!(leader.log(), @"
    0 east Ready
    0 west Ready
    50 west Ready -> Silent
    140 west Silent -> Expired
    220 west Expired -> Ready
    220 west left
    ");
}

#[test]
fn a_member_that_announced_itself_before_the_leader_listened_is_not_ready_yet() {
    let mut leader = Leader::starting();
    leader.beat("east");
    leader.step(Event::Listening);
    leader.wait(130, &[]);
    insta::assert_snapshot!(leader.log(), @"
    0 east Announced
    30 east Announced -> Silent
    120 east Silent -> Expired
    ");
}

#[test]
fn a_day_without_leader_costs_no_member_its_lease() {
    let mut leader = Leader::new();
    leader.wait(60, &["east", "west"]);
    leader.log();
    leader.step(Event::Deaf);
    leader.now += Duration::from_secs(24 * 3600);
    leader.step(Event::Listening);
    leader.wait(9, &[]);
    leader.wait(300, &["east"]);
    insta::assert_snapshot!(leader.log(), @"
    86490 west Ready -> Silent
    86580 west Silent -> Expired
    ");
}

#[test]
fn a_leader_that_was_suspended_did_not_listen() {
    let mut leader = Leader::new();
    leader.wait(60, &["east"]);
    leader.log();
    leader.now += Duration::from_secs(24 * 3600);
    leader.step(Event::Tick);
    leader.wait(9, &[]);
    leader.wait(60, &["east"]);
    assert_eq!(leader.log(), "");
}

#[test]
fn a_leader_whose_watch_breaks_again_and_again_still_counts() {
    let mut leader = Leader::new();
    leader.wait(20, &["east"]);
    leader.log();
    for _ in 0..4 {
        leader.wait(40, &[]);
        leader.step(Event::Deaf);
        leader.now += Duration::from_secs(60);
        leader.step(Event::Listening);
    }
    insta::assert_snapshot!(leader.log(), @"
    50 east Ready -> Silent
    260 east Silent -> Expired
    ");
}

#[test]
fn a_new_leader_process_takes_over_what_the_earlier_one_knew() {
    let mut leader = Leader::starting();
    leader.announce("ready", "x", Some(Standing::Ready));
    leader.announce("silent", "x", Some(Standing::Silent));
    leader.announce("expired", "x", Some(Standing::Expired));
    leader.step(Event::Listening);
    assert_eq!(leader.log(), "");
    leader.wait(25, &["ready"]);
    leader.announce("expired", "y", None);
    leader.wait(125, &["ready"]);
    insta::assert_snapshot!(leader.log(), @"
    25 expired Expired -> Ready
    55 expired Ready -> Silent
    120 silent Silent -> Expired
    145 expired Silent -> Expired
    ");
}

#[test]
fn exports_of_nobody_end_after_a_lease_and_again_after_another() {
    let mut leader = Leader::new();
    leader.step(Event::Exports(id("west")));
    leader.step(Event::Exports(id("north")));
    leader.wait(60, &["east"]);
    leader.step(Event::Exports(id("west")));
    leader.step(Event::NoExports(id("north")));
    leader.wait(180, &["east"]);
    assert_eq!(leader.membership.unannounced(), 1);
    insta::assert_snapshot!(leader.log(), @"
    10 east Ready
    120 west abandoned
    240 west abandoned
    ");
}

#[test]
fn who_announces_itself_within_a_lease_keeps_its_exports() {
    let mut leader = Leader::new();
    leader.step(Event::Exports(id("west")));
    leader.wait(110, &[]);
    leader.beat("west");
    leader.wait(110, &["west"]);
    assert_eq!((leader.membership.unannounced(), leader.log().as_str()), (0, "110 west Ready\n"));
}

#[test]
fn exports_of_nobody_stay_while_the_leader_hears_nothing() {
    let mut leader = Leader::new();
    leader.step(Event::Exports(id("west")));
    leader.wait(100, &[]);
    leader.step(Event::Deaf);
    leader.wait(3600, &[]);
    leader.step(Event::Listening);
    leader.wait(29, &[]);
    assert_eq!(leader.log(), "", "living members first have time to announce themselves");
    leader.wait(1, &[]);
    assert_eq!(leader.log(), "3730 west abandoned\n");
}

#[test]
fn the_clock_of_a_member_does_not_matter() {
    let mut leader = Leader::new();
    leader.announce("east", "2010-01-01T00:00:00Z", None);
    leader.announce("east", "2030-01-01T00:00:00Z", None);
    leader.announce("east", "1999-12-31T23:59:59Z", None);
    leader.wait(29, &[]);
    insta::assert_snapshot!(leader.log(), @"0 east Ready");
}
