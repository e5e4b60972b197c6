//! Errors as API servers of Kubernetes answer them: a `Status` in JSON, which its clients print.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use crate::server::Answer;

/// The longest message, in bytes. Messages quote requests, and a response stays in memory until it is read.
const LONGEST_MESSAGE: usize = 1024;

/// The message, truncated to [`LONGEST_MESSAGE`] between characters.
pub fn shortened(message: &str) -> &str {
    message.get(..message.floor_char_boundary(LONGEST_MESSAGE)).unwrap_or(message)
}

/// An error.
pub fn status(code: StatusCode, message: &str) -> Answer {
    let body = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": shortened(message),
        "reason": reason(code),
        "code": code.as_u16(),
    });
    json_answer(code, &body)
}

/// The answer to a request for what is not there.
pub fn no_such_path() -> Answer {
    status(StatusCode::NOT_FOUND, "the server could not find the requested resource")
}

/// The answer to a method that a path does not have; `allowed` are those that it has, as `GET, PUT`.
pub fn method_not_allowed(allowed: &'static str) -> Answer {
    let message = "the server does not allow this method on the requested resource";
    let mut answer = status(StatusCode::METHOD_NOT_ALLOWED, message);
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}

/// A value, and the end of a line.
pub fn json_answer(code: StatusCode, value: &Value) -> Answer {
    json_text(code, format!("{value}\n").into())
}

/// JSON that is written already.
pub fn json_text(code: StatusCode, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = code;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// The words of `StatusReason` in Kubernetes.
const fn reason(code: StatusCode) -> &'static str {
    match code {
        StatusCode::BAD_REQUEST => "BadRequest",
        StatusCode::UNAUTHORIZED => "Unauthorized",
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::NOT_FOUND => "NotFound",
        StatusCode::METHOD_NOT_ALLOWED => "MethodNotAllowed",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        StatusCode::INTERNAL_SERVER_ERROR => "InternalError",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_between_characters() {
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened(&"a".repeat(5000)).len(), LONGEST_MESSAGE);
        assert_eq!(shortened(&format!("a{}", "ä".repeat(5000))).len(), LONGEST_MESSAGE - 1);
    }
}
