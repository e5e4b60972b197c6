//! Answers of the controller that are no watches.

use std::time::Duration;

use antrea_shared_api::api::from_json;
use antrea_shared_api::meta::Status;
use antrea_shared_api::protobuf::{MEDIA_TYPE, decode};
use http_body_util::{BodyExt, Limited};
use hyper::Response;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap};
use tokio::time::timeout;

use super::call::CallError;

/// How much is read of an answer, in bytes, and for how long.
const LARGEST: usize = 64 << 10;
const LONGEST: Duration = Duration::from_secs(10);

/// How much is told of an answer that is no `Status`, in characters.
const SHOWN: usize = 200;

/// The answer, unless it says that the request was not done.
pub(super) async fn successful(response: Response<Incoming>) -> Result<Response<Incoming>, CallError> {
    if response.status().is_success() {
        return Ok(response);
    }
    let (head, body) = response.into_parts();
    Err(CallError::Refused { code: head.status.as_u16(), message: message(&head.headers, &read(body).await) })
}

/// Reads an answer of which nothing is needed, so that its connection can be used for others.
pub(super) async fn finish(response: Response<Incoming>) {
    read(response.into_body()).await;
}

/// What there is of a body, or nothing.
async fn read(body: impl Body<Data = Bytes, Error = hyper::Error>) -> Bytes {
    let read = timeout(LONGEST, Limited::new(body, LARGEST).collect()).await;
    read.ok().and_then(Result::ok).map_or_else(Bytes::new, |body| body.to_bytes())
}

/// What a `Status` says, or the beginning of what else was sent.
fn message(headers: &HeaderMap, body: &[u8]) -> String {
    let status: Option<Status> = match media_type(headers) {
        MEDIA_TYPE => decode(body).ok(),
        _ => from_json(body).ok(),
    };
    let text = status.map_or_else(|| String::from_utf8_lossy(body).into_owned(), |status| status.message);
    text.trim().chars().take(SHOWN).collect()
}

/// The type of a body without its parameters.
pub(super) fn media_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content_type: &str, body: &[u8], expected: &str) {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, content_type.parse().unwrap())]);
        assert_eq!(message(&headers, body), expected);
    }

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_controller() {
        let status =
            br#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not yet","code":503}"#;
        check("application/json; charset=utf-8", status, "not yet");
        let status: Status = from_json(status).unwrap();
        check(MEDIA_TYPE, &antrea_shared_api::protobuf::encode(&status), "not yet");
    }

    #[test]
    fn of_what_is_no_status_the_beginning_is_told() {
        check("text/plain", b"  upstream is away\n", "upstream is away");
        check("application/json", &[b'x'; 1000], &"x".repeat(200));
        check(MEDIA_TYPE, b"\xff\n", "\u{fffd}");
    }
}
