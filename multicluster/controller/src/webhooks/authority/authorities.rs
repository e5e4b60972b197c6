//! How one authority follows another: API servers trust the next one before anything shows a certificate of it, and the
//! former one for a while after. Pure: what time it is, and what others trust, it is told.

use std::time::{Duration, SystemTime};

use antrea_kit::api::{CertificateError, StoredAuthority};

use super::super::NAME;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// For how long an authority vouches.
const LIFE: Duration = DAY.saturating_mul(365);
/// With less than this left, one is made that follows it.
const MARGIN: Duration = DAY.saturating_mul(365 / 3);
/// How long a bundle is everywhere before anything relies on it: each API server hears of it by a watch of its own.
const SPREAD: Duration = Duration::from_secs(600);
/// How long a process has to run before it takes a step: an older version beside it, as during an upgrade, trusts one
/// certificate alone, and would put that back.
const SETTLED: Duration = Duration::from_secs(3600);

/// The certificate authorities of webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authorities {
    /// The one that issues certificates.
    pub(crate) current: StoredAuthority,
    pub(super) beside: Beside,
}

/// What is trusted beside the current one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    Nobody,
    /// The one that follows.
    Next(StoredAuthority),
    /// The certificate of the one before, PEM. Its key is gone.
    Former(String),
}

/// From one authority to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The next one is made, and trusted.
    Prepare,
    /// It becomes the current one.
    Switch,
    /// The former one is trusted no more.
    Forget,
}

/// When a step may be due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) now: SystemTime,
    /// For how long this process has run.
    pub(super) running: Duration,
    /// For how long the bundle has been everywhere, if it is.
    pub(super) trusted: Option<Duration>,
}

impl Authorities {
    /// The first one.
    pub(super) fn generate(now: SystemTime) -> Result<Self, CertificateError> {
        Ok(Self { current: generate(now)?, beside: Beside::Nobody })
    }

    /// The certificates that API servers are to trust, PEM: in the same order before and after the next one has become the
    /// current one, so that nothing is written then.
    pub(crate) fn bundle(&self) -> String {
        let other = match &self.beside {
            Beside::Nobody => return self.current.certificate.clone(),
            Beside::Next(next) => &next.certificate,
            Beside::Former(certificate) => certificate,
        };
        let mut both = [&self.current.certificate, other];
        both.sort();
        both.map(|pem| format!("{}\n", pem.trim_end())).concat()
    }

    /// The step to take now. After the end of the current one there is nothing to wait for: nobody trusts it.
    pub(super) fn due(&self, moment: &Moment) -> Option<Step> {
        let has_ended = self.current.ends.is_some_and(|ends| ends <= moment.now);
        let is_long = |time: Duration, wanted: Duration| has_ended || time >= wanted;
        if !is_long(moment.running, SETTLED) {
            return None;
        }
        let is_trusted = moment.trusted.is_some_and(|time| is_long(time, SPREAD));
        match self.beside {
            Beside::Nobody => self.is_old(moment.now).then_some(Step::Prepare),
            Beside::Next(_) => is_trusted.then_some(Step::Switch),
            Beside::Former(_) => is_trusted.then_some(Step::Forget),
        }
    }

    /// One without an end was made by an earlier version, or somebody wants another one.
    fn is_old(&self, now: SystemTime) -> bool {
        let left = self.current.ends.map(|ends| ends.duration_since(now).unwrap_or_default());
        left.is_none_or(|left| left < MARGIN)
    }

    /// What there is after a step.
    pub(super) fn after(&self, step: Step, now: SystemTime) -> Result<Self, CertificateError> {
        Ok(match (step, &self.beside) {
            (Step::Prepare, _) => {
                Self { current: self.current.clone(), beside: Beside::Next(generate(now)?) }
            }
            (Step::Switch, Beside::Next(next)) => {
                Self { current: next.clone(), beside: Beside::Former(self.current.certificate.clone()) }
            }
            (Step::Switch | Step::Forget, _) => {
                Self { current: self.current.clone(), beside: Beside::Nobody }
            }
        })
    }
}

fn generate(now: SystemTime) -> Result<StoredAuthority, CertificateError> {
    // Certificates know no fractions of seconds, and the Secret need not either.
    let since_epoch = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let whole = SystemTime::UNIX_EPOCH + Duration::from_secs(since_epoch.as_secs());
    StoredAuthority::generate_until(NAME, now, whole + LIFE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn at(time: &str) -> SystemTime {
        time.parse::<jiff::Timestamp>().unwrap().into()
    }

    /// Of a process that has run for two hours.
    fn moment(now: SystemTime, trusted: Option<Duration>) -> Moment {
        Moment { now, running: 120 * MINUTE, trusted }
    }

    fn made(now: &str) -> Authorities {
        Authorities::generate(at(now)).unwrap()
    }

    #[test]
    fn a_stored_authority_without_an_end_is_replaced_in_steps() {
        let now = at("2026-11-20T00:00:00Z");
        let endless = StoredAuthority::generate(NAME).unwrap();
        let mut authorities = Authorities { current: endless.clone(), beside: Beside::Nobody };
        let mut bundles = Vec::new();
        for step in [Step::Prepare, Step::Switch, Step::Forget] {
            assert_eq!(authorities.due(&moment(now, Some(10 * MINUTE))), Some(step));
            authorities = authorities.after(step, now).unwrap();
            bundles.push(authorities.bundle());
        }
        assert_eq!(authorities.due(&moment(now, Some(10 * MINUTE))), None);
        assert_eq!(authorities.current.ends, Some(at("2027-11-20T00:00:00Z")));
        assert_eq!(bundles[0].matches("BEGIN CERTIFICATE").count(), 2);
        assert!(bundles[0].contains(endless.certificate.trim_end()));
        assert_eq!(bundles[0], bundles[1], "nothing is written when one follows the other");
        assert_eq!(bundles[2], authorities.current.certificate);
    }

    #[test]
    fn an_authority_is_replaced_four_months_before_its_end() {
        let authorities = made("2026-11-20T00:00:00Z");
        let due = |now: &str| authorities.due(&moment(at(now), None));
        assert_eq!(due("2027-07-22T00:00:00Z"), None);
        assert_eq!(due("2027-07-23T00:00:00Z"), Some(Step::Prepare));
        assert_eq!(due("2025-11-20T00:00:00Z"), None, "the clock was set back");
    }

    #[test]
    fn nothing_is_switched_or_forgotten_before_everybody_trusts_both() {
        let now = at("2026-11-20T00:00:00Z");
        let mut authorities = made("2026-11-20T00:00:00Z").after(Step::Prepare, now).unwrap();
        for step in [Step::Switch, Step::Forget] {
            for trusted in [None, Some(9 * MINUTE)] {
                assert_eq!(authorities.due(&moment(now, trusted)), None);
            }
            assert_eq!(authorities.due(&moment(now, Some(10 * MINUTE))), Some(step));
            authorities = authorities.after(step, now).unwrap();
        }
    }

    #[test]
    fn no_step_is_taken_in_the_first_hour_of_a_process() {
        let now = at("2026-11-20T00:00:00Z");
        let endless = StoredAuthority::generate(NAME).unwrap();
        let authorities = Authorities { current: endless, beside: Beside::Nobody };
        let due = |running| authorities.due(&Moment { now, running, trusted: Some(running) });
        assert_eq!(due(59 * MINUTE), None);
        assert_eq!(due(60 * MINUTE), Some(Step::Prepare));
    }

    #[test]
    fn one_that_has_ended_is_replaced_as_soon_as_the_other_is_trusted() {
        let now = at("2027-11-20T00:00:00Z");
        let authorities = made("2026-11-20T00:00:00Z");
        let due = |authorities: &Authorities, trusted| {
            authorities.due(&Moment { now, running: Duration::ZERO, trusted })
        };
        assert_eq!(due(&authorities, None), Some(Step::Prepare));
        let authorities = authorities.after(Step::Prepare, now).unwrap();
        assert_eq!(due(&authorities, None), None);
        assert_eq!(due(&authorities, Some(Duration::ZERO)), Some(Step::Switch));
        let authorities = authorities.after(Step::Switch, now).unwrap();
        assert_eq!(due(&authorities, Some(Duration::ZERO)), None);
    }
}
