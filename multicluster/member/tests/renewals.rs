//! When the token is renewed.

use std::time::Duration;

use antrea_mc_member::leader::{Credentials, Pace, Renewal};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;

fn token(claims: &str) -> Credentials {
    Credentials { ca: None, token: format!("h.{}.s", URL_SAFE_NO_PAD.encode(claims)) }
}

/// A token of ServiceAccount `area/west` that lasts from second 1,000 to 2,000.
fn of_west() -> Credentials {
    token(r#"{"sub": "system:serviceaccount:area:west", "iat": 1000, "exp": 2000}"#)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[track_caller]
fn check(renewal: &Renewal, credentials: &Credentials, seconds: &[i64], expected: bool) {
    for second in seconds {
        assert_eq!(renewal.due(credentials, at(*second)).is_some(), expected, "at {second}");
    }
}

#[test]
fn a_token_is_renewed_at_half_of_its_life() {
    let renewal = Renewal::default();
    check(&renewal, &of_west(), &[0, 1000, 1499], false);
    check(&renewal, &of_west(), &[1500, 1999], true);
    let due = renewal.due(&of_west(), at(1500)).unwrap();
    assert_eq!((due.namespace.as_str(), due.account.as_str()), ("area", "west"));
}

/// Nothing is asked of a leader that does not take the token any more.
#[test]
fn a_token_that_the_leader_takes_is_renewed_whatever_the_clock_says() {
    check(&Renewal::default(), &of_west(), &[2000, 1_000_000], true);
}

/// How often a token is renewed within so many seconds that is due all the time.
fn renewals(life: i64, seconds: u64) -> usize {
    let claims =
        format!(r#"{{"sub": "system:serviceaccount:area:west", "iat": 1000, "exp": {}}}"#, 1000 + life);
    let (credentials, renewal, mut pace) = (token(&claims), Renewal::default(), Pace::default());
    let ahead = at(1_000_000_000);
    let renewed = (0..seconds).filter(|second| {
        let now = Duration::from_secs(*second);
        let due = renewal.due(&credentials, ahead).is_some_and(|token| pace.allows(&token, now));
        if due {
            pace.renewed(now);
        }
        due
    });
    renewed.count()
}

#[test]
fn a_clock_that_is_wrong_renews_a_token_once_a_minute_at_most() {
    assert_eq!(renewals(1, 3600), 60);
    assert_eq!(renewals(600, 3600), 60);
    assert_eq!(renewals(6000, 3600), 6);
    assert_eq!(renewals(7 * 86_400, 7200), 2, "an hour passes between two");
}

#[test]
fn a_token_that_never_expires_or_is_no_service_accounts_is_left_alone() {
    for claims in [
        r#"{"sub": "system:serviceaccount:area:west"}"#,
        r#"{"sub": "system:serviceaccount:area:west", "exp": 2000}"#,
        r#"{"sub": "bob", "iat": 1000, "exp": 2000}"#,
        r#"{"iat": 1000, "exp": 2000}"#,
        "text",
    ] {
        check(&Renewal::default(), &token(claims), &[1500, 1999], false);
    }
    check(&Renewal::default(), &Credentials { ca: None, token: "opaque".to_owned() }, &[1500], false);
}

#[test]
fn a_refusal_is_news_once_and_tried_again_after_growing_waits() {
    let mut renewal = Renewal::default();
    assert!(renewal.failed("forbidden".to_owned(), at(1500), 1.0));
    assert_eq!(renewal.problem(), Some("forbidden"));
    check(&renewal, &of_west(), &[1509], false);
    check(&renewal, &of_west(), &[1510], true);
    assert!(!renewal.failed("forbidden".to_owned(), at(1510), 1.0));
    check(&renewal, &of_west(), &[1529], false);
    check(&renewal, &of_west(), &[1530], true);
    assert!(renewal.failed("timed out".to_owned(), at(1530), 1.0));
    check(&renewal, &of_west(), &[1569], false);
}

#[test]
fn damaged_claims_are_no_claims() {
    for claims in [r#"{"sub": 1, "iat": "x", "exp": 99999999999999999}"#, "[]", ""] {
        check(&Renewal::default(), &token(claims), &[1500], false);
    }
    let odd = r#"{"sub": "system:serviceaccount:area:west", "iat": -9223372036854775808, "exp": 9223372036854775807}"#;
    check(&Renewal::default(), &token(odd), &[1500], false);
    let whole = format!(
        r#"{{"sub": "system:serviceaccount:area:west", "iat": {}, "exp": {}}}"#,
        Timestamp::MIN.as_second(),
        Timestamp::MAX.as_second()
    );
    check(&Renewal::default(), &token(&whole), &[1], true);
    let backwards = r#"{"sub": "system:serviceaccount:area:west", "iat": 2000, "exp": 1000}"#;
    check(&Renewal::default(), &token(backwards), &[1500, 999], false);
}
