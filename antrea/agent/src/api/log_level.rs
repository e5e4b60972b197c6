//! `/loglevel`: how much the agent logs, and another level from now on.

use antrea_kit::health::text;
use antrea_kit::logging::LogLevel;
use antrea_kit::query::Query;
use antrea_kit::server::Answer;
use antrea_kit::status::json_answer;
use hyper::{Method, StatusCode};
use tracing::info;

use super::refusal::Refusal;

/// The highest level that klog, and so upstream, knows.
const MOST: u8 = 10;

/// PUT sets the level; so does GET with a level, by which upstream's antctl sets it.
pub(super) fn answer(log: &LogLevel, method: &Method, query: &Query) -> Result<Answer, Refusal> {
    if !matches!(*method, Method::GET | Method::PUT) {
        return Err(Refusal::Method("GET, PUT"));
    }
    let Some(level) = wanted(method, query)? else {
        return Ok(json_answer(StatusCode::OK, &log.get().into()));
    };
    log.set(level).map_err(|error| Refusal::Unavailable(error.to_string()))?;
    info!(level, "The log level was changed");
    Ok(text(StatusCode::OK, String::new()))
}

fn wanted(method: &Method, query: &Query) -> Result<Option<u8>, Refusal> {
    let Some(level) = query.get("level") else {
        let missing = Refusal::BadRequest(format!("level is missing: 0 to {MOST}"));
        return if *method == Method::GET { Ok(None) } else { Err(missing) };
    };
    match level.parse() {
        Ok(level @ 0..=MOST) => Ok(Some(level)),
        _ => Err(Refusal::BadRequest(format!("level {level:?} is none: 0 to {MOST} are"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &Method, query: &str) -> Result<Option<u8>, String> {
        wanted(method, &Query::parse(query)).map_err(|refusal| refusal.to_string())
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
