//! `/healthz`, `/livez` and `/readyz`: named checks, in the format of Kubernetes API servers.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request, Response, StatusCode};

use crate::server::Answer;

/// What depends on a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The process must be restarted when it fails. Nothing that a restart does not mend belongs here.
    Liveness,
    /// The process cannot do its work while it fails.
    Readiness,
    /// Somebody is away whom the process needs for what is new: `/readyz` alone tells so.
    Neighbour,
}

impl Kind {
    /// What is told of at a path.
    fn told_at(path: &str) -> Option<&'static [Self]> {
        match path {
            "/livez" => Some(&[Self::Liveness]),
            "/healthz" => Some(&[Self::Liveness, Self::Readiness]),
            "/readyz" => Some(&[Self::Liveness, Self::Readiness, Self::Neighbour]),
            _ => None,
        }
    }
}

/// Whether whoever asks is told why checks fail: reasons name addresses and objects, and health is told to everybody.
/// A guard says so as an extension of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reasons {
    /// They are told that they are not told.
    #[default]
    Withheld,
    /// They are.
    Told,
}

/// The checks of a process.
#[derive(Clone, Debug, Default)]
pub struct Checks(Arc<Mutex<BTreeMap<&'static str, State>>>);

#[derive(Debug)]
struct State {
    kind: Kind,
    /// Why the check fails; `None` while it passes.
    failure: Option<String>,
}

/// One check, set by the component that it is about. It fails until it passes for the first time.
#[derive(Clone, Debug)]
pub struct Check {
    checks: Checks,
    name: &'static str,
}

impl Check {
    /// All is well.
    pub fn pass(&self) {
        self.set(None);
    }

    /// Something is wrong.
    pub fn fail(&self, reason: impl Into<String>) {
        self.set(Some(reason.into()));
    }

    fn set(&self, failure: Option<String>) {
        if let Some(state) = self.checks.states().get_mut(self.name) {
            state.failure = failure;
        }
    }
}

impl Checks {
    /// No checks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a check, or takes the place of the one of that name.
    pub fn add(&self, name: &'static str, kind: Kind) -> Check {
        self.states().insert(name, State { kind, failure: Some("not checked yet".to_owned()) });
        Check { checks: self.clone(), name }
    }

    /// Whether every check passes.
    pub fn ready(&self) -> bool {
        self.states().values().all(|state| state.failure.is_none())
    }

    /// The answer to a request; `None` where it is not about health.
    pub fn answer<B>(&self, request: &Request<B>) -> Option<Answer> {
        let (path, query) = (request.uri().path(), request.uri().query());
        let told = Kind::told_at(path)?;
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Some(text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered\n".to_owned()));
        }
        let verbose =
            query.is_some_and(|query| query.split('&').any(|item| item.split('=').next() == Some("verbose")));
        let reasons = request.extensions().get().copied().unwrap_or_default();
        Some(self.report(path.trim_start_matches('/'), told, verbose, reasons))
    }

    fn report(&self, name: &str, told: &[Kind], verbose: bool, reasons: Reasons) -> Answer {
        let mut lines = "[+]ping ok\n".to_owned();
        let mut failed = false;
        for (check, state) in self.states().iter() {
            if !told.contains(&state.kind) {
                continue;
            }
            // Writing to a String cannot fail.
            let _ = match (&state.failure, reasons) {
                (None, _) => writeln!(lines, "[+]{check} ok"),
                (Some(reason), Reasons::Told) => writeln!(lines, "[-]{check} failed: {reason}"),
                // As API servers of Kubernetes write it.
                (Some(_), Reasons::Withheld) => writeln!(lines, "[-]{check} failed: reason withheld"),
            };
            failed |= state.failure.is_some();
        }
        match (failed, verbose) {
            (true, _) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{lines}{name} check failed\n")),
            (false, true) => text(StatusCode::OK, format!("{lines}{name} check passed\n")),
            (false, false) => text(StatusCode::OK, "ok".to_owned()),
        }
    }

    fn states(&self) -> MutexGuard<'_, BTreeMap<&'static str, State>> {
        // Each critical section leaves the map whole, whatever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer to a request for what is not there.
pub fn not_found() -> Answer {
    text(StatusCode::NOT_FOUND, "not found\n".to_owned())
}

/// A plain answer.
pub fn text(status: StatusCode, body: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    let plain = hyper::header::HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(hyper::header::CONTENT_TYPE, plain);
    answer
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    fn get(checks: &Checks, path: &str) -> String {
        get_with(checks, path, Reasons::Told)
    }

    fn get_with(checks: &Checks, path: &str, reasons: Reasons) -> String {
        let request = Request::get(path).extension(reasons).body(()).unwrap();
        let Some(answer) = checks.answer(&request) else {
            return "none".to_owned();
        };
        let status = answer.status().as_u16();
        let body = futures::executor::block_on(answer.into_body().collect()).unwrap().to_bytes();
        format!("{status} {}", String::from_utf8(body.to_vec()).unwrap())
    }

    #[test]
    fn a_check_fails_until_it_passes() {
        let checks = Checks::new();
        let check = checks.add("ovs", Kind::Readiness);
        assert_eq!(
            get(&checks, "/readyz"),
            "500 [+]ping ok\n[-]ovs failed: not checked yet\nreadyz check failed\n"
        );
        check.pass();
        assert_eq!(get(&checks, "/readyz"), "200 ok");
        check.fail("connection lost");
        assert_eq!(
            get(&checks, "/healthz"),
            "500 [+]ping ok\n[-]ovs failed: connection lost\nhealthz check failed\n"
        );
        assert!(!checks.ready());
    }

    #[test]
    fn readiness_does_not_make_a_process_be_restarted() {
        let checks = Checks::new();
        checks.add("ovs", Kind::Readiness);
        let deadlock = checks.add("deadlock", Kind::Liveness);
        deadlock.pass();
        assert_eq!(get(&checks, "/livez"), "200 ok");
        assert_eq!(get(&checks, "/livez?verbose"), "200 [+]ping ok\n[+]deadlock ok\nlivez check passed\n");
    }

    #[test]
    fn a_neighbour_that_is_away_is_told_by_readyz_alone() {
        let checks = Checks::new();
        checks.add("watcher", Kind::Neighbour).fail("away");
        assert_eq!(get(&checks, "/readyz"), "500 [+]ping ok\n[-]watcher failed: away\nreadyz check failed\n");
        assert_eq!(get(&checks, "/healthz"), "200 ok");
        assert_eq!(get(&checks, "/livez"), "200 ok");
    }

    #[test]
    fn whoever_is_nobody_is_not_told_why_a_check_fails() {
        let checks = Checks::new();
        checks.add("watcher", Kind::Neighbour).fail("no route to 10.0.0.7");
        let withheld = "500 [+]ping ok\n[-]watcher failed: reason withheld\nreadyz check failed\n";
        assert_eq!(get_with(&checks, "/readyz", Reasons::Withheld), withheld);
        assert_eq!(get_with(&checks, "/readyz?verbose", Reasons::Withheld), withheld);
        assert!(get_with(&checks, "/readyz", Reasons::Told).contains("10.0.0.7"));
        let answer = checks.answer(&Request::get("/readyz").body(()).unwrap()).unwrap();
        let body = futures::executor::block_on(answer.into_body().collect()).unwrap().to_bytes();
        assert!(!String::from_utf8(body.to_vec()).unwrap().contains("10.0.0.7"), "without a guard");
    }

    #[test]
    fn other_paths_and_methods_are_left_alone() {
        let checks = Checks::new();
        assert_eq!(get(&checks, "/metrics"), "none");
        let post = Request::post("/readyz").body(()).unwrap();
        let answer = checks.answer(&post).map(|answer| answer.status());
        assert_eq!(answer, Some(StatusCode::METHOD_NOT_ALLOWED));
    }
}
