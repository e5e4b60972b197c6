//! The rules of an election, without clock and client.
//!
//! Clocks of machines differ: how long ago a holder renewed its Lease is measured from when this process saw the Lease
//! change, never by the times written in it.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

/// Who takes part, and how fast.
#[derive(Clone, Debug)]
pub struct Terms {
    /// What tells this process from the others.
    pub identity: String,
    /// How long a Lease that nobody renews keeps others out.
    pub lease_duration: Duration,
    /// How long a leader goes on that cannot renew it; shorter than the above, so that there are never two.
    pub renew_deadline: Duration,
    /// How often each of them looks.
    pub retry_period: Duration,
}

impl Terms {
    /// Those of Kubernetes' own programs.
    pub fn usual(identity: impl Into<String>) -> Self {
        Self {
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// Whether this process is the one that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// It is.
    Leading,
    /// Another is, or nobody.
    Following,
}

/// What is to be done about the Lease.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// It is not there: create it.
    Create(LeaseSpec),
    /// It is this process' own, or nobody's: write this.
    Write(LeaseSpec),
    /// Another holds it.
    Wait,
}

/// What this process knows of the election.
#[derive(Debug)]
pub(super) struct Election {
    terms: Terms,
    /// The Lease as it was last seen, and since when it is so.
    seen: Option<(LeaseSpec, Instant)>,
    /// When this process last began to write it with success.
    renewed: Option<Instant>,
}

impl Election {
    pub(super) const fn new(terms: Terms) -> Self {
        Self { terms, seen: None, renewed: None }
    }

    pub(super) const fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Takes in the Lease as it is.
    pub(super) fn observe(&mut self, lease: Option<LeaseSpec>, now: Instant) {
        match lease {
            Some(lease) if self.seen.as_ref().is_some_and(|(seen, _)| *seen == lease) => {}
            Some(lease) => self.seen = Some((lease, now)),
            None => self.seen = None,
        }
        if !self.holds() {
            self.renewed = None;
        }
    }

    /// What to do now; `time` is what is written.
    pub(super) fn step(&self, now: Instant, time: Timestamp) -> Step {
        let Some((seen, since)) = &self.seen else { return Step::Create(self.spec(None, time)) };
        let holder = seen.holder_identity.as_deref().unwrap_or_default();
        let seconds = seen.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let duration = seconds.map_or(self.terms.lease_duration, Duration::from_secs);
        if self.holds() || holder.is_empty() || now >= *since + duration {
            Step::Write(self.spec(Some(seen), time))
        } else {
            Step::Wait
        }
    }

    /// What was to be written is written; `began` is when that began.
    pub(super) fn written(&mut self, spec: LeaseSpec, began: Instant) {
        self.seen = Some((spec, began));
        self.renewed = Some(began);
    }

    /// Whether this process works, at this moment.
    pub(super) fn leadership(&self, now: Instant) -> Leadership {
        match self.ends() {
            Some(end) if now < end => Leadership::Leading,
            _ => Leadership::Following,
        }
    }

    /// Until when it may go on working without another success.
    pub(super) fn ends(&self) -> Option<Instant> {
        self.renewed.map(|renewed| renewed + self.terms.renew_deadline)
    }

    /// What gives the Lease back, where it is this process' own: others need not wait for its end.
    pub(super) fn release(&self, time: Timestamp) -> Option<LeaseSpec> {
        let (seen, _) = self.seen.as_ref().filter(|_| self.holds())?;
        let time = Some(MicroTime(time));
        Some(LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            acquire_time: time.clone(),
            renew_time: time,
            ..seen.clone()
        })
    }

    fn holds(&self) -> bool {
        let holder = self.seen.as_ref().and_then(|(seen, _)| seen.holder_identity.as_deref());
        holder == Some(&self.terms.identity)
    }

    /// The Lease held by this process; `before` is what it is now.
    fn spec(&self, before: Option<&LeaseSpec>, time: Timestamp) -> LeaseSpec {
        let transitions = before.and_then(|before| before.lease_transitions).unwrap_or(0);
        let own = self.holds();
        let acquired = before.and_then(|before| before.acquire_time.clone()).filter(|_| own);
        LeaseSpec {
            holder_identity: Some(self.terms.identity.clone()),
            lease_duration_seconds: i32::try_from(self.terms.lease_duration.as_secs()).ok(),
            acquire_time: Some(acquired.unwrap_or(MicroTime(time))),
            renew_time: Some(MicroTime(time)),
            lease_transitions: Some(transitions.saturating_add(i32::from(before.is_some() && !own))),
            ..LeaseSpec::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn election(identity: &str) -> Election {
        Election::new(Terms::usual(identity))
    }

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn written(step: Step) -> LeaseSpec {
        match step {
            Step::Create(spec) | Step::Write(spec) => spec,
            Step::Wait => panic!("it waits"),
        }
    }

    #[test]
    fn the_first_one_creates_the_lease_and_leads_until_it_cannot_renew_it() {
        let (mut a, start) = (election("a"), Instant::now());
        a.observe(None, start);
        assert!(matches!(a.step(start, time(1)), Step::Create(_)));
        assert_eq!(a.leadership(start), Leadership::Following);
        a.written(written(a.step(start, time(1))), start);
        assert_eq!(a.leadership(start + SECOND * 9), Leadership::Leading);
        assert_eq!(a.leadership(start + SECOND * 10), Leadership::Following);
    }

    #[test]
    fn a_leader_renews_and_keeps_the_time_of_its_election() {
        let (mut a, start) = (election("a"), Instant::now());
        a.written(written(a.step(start, time(1))), start);
        let renewed = written(a.step(start + SECOND * 2, time(3)));
        assert_eq!(renewed.acquire_time, Some(MicroTime(time(1))));
        assert_eq!(renewed.renew_time, Some(MicroTime(time(3))));
        assert_eq!(renewed.lease_transitions, Some(0));
    }

    #[test]
    fn another_takes_over_only_when_it_saw_no_change_for_the_duration_of_the_lease() {
        let (a, mut b, start) = (election("a"), election("b"), Instant::now());
        // Written long ago by the holder's clock, which counts for nothing.
        let first = written(a.step(start, time(1)));
        b.observe(Some(first.clone()), start);
        assert_eq!(b.step(start + SECOND * 14, time(900)), Step::Wait);
        let renewed = LeaseSpec { renew_time: Some(MicroTime(time(2))), ..first };
        b.observe(Some(renewed.clone()), start + SECOND * 14);
        b.observe(Some(renewed), start + SECOND * 20);
        assert_eq!(b.step(start + SECOND * 28, time(900)), Step::Wait);
        let taken = written(b.step(start + SECOND * 29, time(901)));
        assert_eq!(taken.holder_identity.as_deref(), Some("b"));
        assert_eq!(taken.lease_transitions, Some(1));
        assert_eq!(taken.acquire_time, Some(MicroTime(time(901))));
    }

    #[test]
    fn a_leader_that_sees_anothers_name_leads_no_longer() {
        let (mut a, b, start) = (election("a"), election("b"), Instant::now());
        a.written(written(a.step(start, time(1))), start);
        a.observe(Some(written(b.step(start, time(2)))), start + SECOND);
        assert_eq!(a.leadership(start + SECOND), Leadership::Following);
        assert_eq!(a.step(start + SECOND, time(3)), Step::Wait);
        assert_eq!(a.release(time(3)), None);
    }

    #[test]
    fn a_lease_that_was_given_back_is_taken_at_once() {
        let (mut a, mut b, start) = (election("a"), election("b"), Instant::now());
        a.written(written(a.step(start, time(1))), start);
        b.observe(a.release(time(2)), start);
        assert_eq!(written(b.step(start, time(2))).holder_identity.as_deref(), Some("b"));
    }

    #[test]
    fn a_process_that_restarts_under_its_name_leads_only_after_it_renewed() {
        let (mut a, start) = (election("a"), Instant::now());
        a.observe(Some(written(election("a").step(start, time(1)))), start);
        assert_eq!(a.leadership(start), Leadership::Following);
        assert!(matches!(a.step(start, time(2)), Step::Write(_)));
    }
}
