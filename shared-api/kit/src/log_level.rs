//! `/loglevel`: how much a program logs, and another level from now on.

use hyper::{Method, StatusCode, Uri};
use tracing::info;

use crate::health::text;
use crate::logging::LogLevel;
use crate::query::Query;
use crate::server::Answer;
use crate::status::{json_answer, method_not_allowed, status};

/// Where it is asked.
pub const PATH: &str = "/loglevel";

/// The highest level that klog, and so upstream, knows.
const MOST: u8 = 10;

/// PUT sets the level; so does GET with a level, by which upstream's antctl sets it.
pub fn answer(log: &LogLevel, method: &Method, query: &Query) -> Answer {
    if !matches!(*method, Method::GET | Method::PUT) {
        return method_not_allowed("GET, PUT");
    }
    let level = match wanted(method, query) {
        Ok(Some(level)) => level,
        Ok(None) => return json_answer(StatusCode::OK, &log.get().into()),
        Err(message) => return status(StatusCode::BAD_REQUEST, &message),
    };
    if let Err(error) = log.set(level) {
        return status(StatusCode::SERVICE_UNAVAILABLE, &error.to_string());
    }
    info!(level, "The log level was changed");
    text(StatusCode::OK, String::new())
}

/// What RBAC is asked about for a request of a path: whoever sets a level, by whatever method, has to have the right to put
/// one. Others than those who want to could be led to send a GET.
pub fn verb<'a>(method: &'a Method, uri: &Uri) -> &'a str {
    let sets = uri.path() == PATH && Query::parse(uri.query().unwrap_or_default()).has("level");
    if sets && *method == Method::GET { "put" } else { method.as_str() }
}

fn wanted(method: &Method, query: &Query) -> Result<Option<u8>, String> {
    let Some(level) = query.get("level") else {
        let missing = format!("level is missing: 0 to {MOST}");
        return if *method == Method::GET { Ok(None) } else { Err(missing) };
    };
    match level.parse() {
        Ok(level @ 0..=MOST) => Ok(Some(level)),
        _ => Err(format!("level {level:?} is none: 0 to {MOST} are")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &Method, query: &str) -> Result<Option<u8>, String> {
        wanted(method, &Query::parse(query))
    }

    #[test]
    fn whoever_sets_a_level_needs_the_right_to_put_one() {
        let check = |method: &Method, uri: &'static str| verb(method, &Uri::from_static(uri)).to_owned();
        assert_eq!(check(&Method::GET, "/loglevel"), "GET");
        assert_eq!(check(&Method::GET, "/loglevel?level=4"), "put");
        assert_eq!(check(&Method::GET, "/loglevel?a=b&level="), "put");
        assert_eq!(check(&Method::PUT, "/loglevel?level=4"), "PUT");
        assert_eq!(check(&Method::GET, "/metrics?level=4"), "GET");
    }

    #[test]
    fn levels_are_0_to_10() {
        assert_eq!(check(&Method::GET, ""), Ok(None));
        assert_eq!(check(&Method::GET, "level=4"), Ok(Some(4)));
        assert_eq!(check(&Method::PUT, "level=10"), Ok(Some(10)));
        assert_eq!(check(&Method::PUT, "level=11"), Err("level \"11\" is none: 0 to 10 are".into()));
        assert_eq!(check(&Method::PUT, "level=-1"), Err("level \"-1\" is none: 0 to 10 are".into()));
        assert_eq!(check(&Method::PUT, ""), Err("level is missing: 0 to 10".into()));
    }
}
