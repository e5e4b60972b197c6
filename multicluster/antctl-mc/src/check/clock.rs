//! Clocks: tokens and certificates are good from one time to another, and members write times that others read.

use jiff::{SignedDuration, Timestamp};

use super::finding::Finding;

const CHECK: &str = "clocks";
/// Time in HTTP and in annotations is to the second, and takes a moment to be read.
const LIMIT: SignedDuration = SignedDuration::from_secs(10);
/// Members write the time every 10 s; one that is connected may have missed two.
const OLDEST: SignedDuration = SignedDuration::from_secs(40);
const FIX: &str = "Synchronize the clocks of the Nodes of both clusters by NTP (chrony, systemd-timesyncd).";

/// Compares the API server's clock of this cluster with that of the leader's.
pub(crate) fn check_leader(here: Option<Timestamp>, leader: Option<Timestamp>) -> Finding {
    let (Some(here), Some(leader)) = (here, leader) else {
        return Finding::skipped(CHECK, "an API server did not say what time it is");
    };
    let ahead = here.duration_since(leader);
    if ahead.abs() <= LIMIT {
        return Finding::passed(CHECK, "this cluster and its leader agree");
    }
    Finding::failed(CHECK, format!("this cluster's clock is {} the leader's", apart(ahead)), FIX)
}

/// A connected member, and the time that it wrote last.
pub(crate) struct Heartbeat {
    pub(crate) cluster: String,
    pub(crate) touched: Timestamp,
}

/// Compares what connected members wrote with the leader's clock.
pub(crate) fn check_members(leader: Option<Timestamp>, heartbeats: &[Heartbeat]) -> Vec<Finding> {
    let Some(now) = leader else {
        return vec![Finding::skipped(CHECK, "the API server did not say what time it is")];
    };
    if heartbeats.is_empty() {
        return vec![Finding::skipped(CHECK, "no member is connected")];
    }
    let wrong = heartbeats.iter().filter_map(|Heartbeat { cluster, touched }| {
        let ahead = touched.duration_since(now);
        let is_off = ahead > LIMIT || ahead < -OLDEST;
        let cause = || format!("the clock of cluster {cluster} is {} the leader's", apart(ahead));
        is_off.then(|| Finding::failed(CHECK, cause(), FIX))
    });
    let wrong: Vec<Finding> = wrong.collect();
    if wrong.is_empty() {
        let members: Vec<&str> = heartbeats.iter().map(|of| of.cluster.as_str()).collect();
        return vec![Finding::passed(CHECK, format!("{} and the leader agree", members.join(", ")))];
    }
    wrong
}

fn apart(ahead: SignedDuration) -> String {
    let seconds = ahead.abs().as_secs();
    if ahead.is_negative() { format!("{seconds} s behind") } else { format!("{seconds} s ahead of") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::finding::text;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn first(findings: &[Finding]) -> String {
        text(findings).lines().next().unwrap().to_owned()
    }

    #[track_caller]
    fn check_member(touched: i64, expected: &str) {
        let heartbeat = Heartbeat { cluster: "east".to_owned(), touched: at(touched) };
        assert_eq!(first(&check_members(Some(at(0)), &[heartbeat])), expected);
    }

    #[test]
    fn a_member_wrote_the_time_not_long_ago() {
        check_member(-9, "clocks: passed: east and the leader agree");
        check_member(-40, "clocks: passed: east and the leader agree");
        check_member(5, "clocks: passed: east and the leader agree");
        check_member(11, "clocks: FAILED: the clock of cluster east is 11 s ahead of the leader's");
        check_member(-3600, "clocks: FAILED: the clock of cluster east is 3600 s behind the leader's");
        assert_eq!(first(&check_members(Some(at(0)), &[])), "clocks: skipped: no member is connected");
    }

    #[test]
    fn a_member_and_its_leader_agree_about_the_time() {
        let check = |here| first(&[check_leader(Some(at(here)), Some(at(0)))]);
        assert_eq!(check(-10), "clocks: passed: this cluster and its leader agree");
        assert_eq!(check(60), "clocks: FAILED: this cluster's clock is 60 s ahead of the leader's");
        let unknown = first(&[check_leader(None, Some(at(0)))]);
        assert_eq!(unknown, "clocks: skipped: an API server did not say what time it is");
    }
}
