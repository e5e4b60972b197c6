//! What is asked of the webhooks, and the answer: a function of the path, of the bytes of the body and of what is known.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::debug;

use crate::hook::{Hook, review};
use crate::review::{Request, Verdict};
use crate::surroundings::Known;
use crate::{convert, review as admission};

/// Where ClusterSets are converted.
const CONVERT: &str = "/convert-multicluster-crd-antrea-io-clusterset";

/// The estimated memory that the values of a request may take, in bytes. An update of a 1.5 MiB object full of addresses fits. Clients
/// are not authenticated, and four bytes such as `[0],` take hundreds once parsed.
const MOST_MEMORY: usize = 128 << 20;
/// The estimate for a list or an object, and for each of its items or members, in bytes.
const CONTAINER: usize = 350;
const ITEM: usize = 100;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether something may be written, by an AdmissionReview.
    Review(Hook),
    /// ClusterSets of another version, by a ConversionReview.
    Convert,
}

/// AdmissionReview and ConversionReview alike.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<T> {
    api_version: String,
    kind: String,
    request: T,
}

impl Question {
    /// What is asked at a path, if anything is.
    pub fn at(path: &str) -> Option<Self> {
        if path == CONVERT { Some(Self::Convert) } else { Hook::at(path).map(Self::Review) }
    }

    /// The review that answers the one in `body`.
    ///
    /// # Errors
    /// Why `body` is no review of that kind.
    pub fn answer(self, body: &[u8], known: &Known) -> Result<Value, String> {
        match self {
            Self::Review(hook) => parse(body, admission::API_VERSION, "AdmissionReview")
                .map(|request| admit(hook, &request, known)),
            Self::Convert => parse(body, convert::API_VERSION, "ConversionReview")
                .map(|request: convert::Request| request.answer(&known.read())),
        }
    }
}

fn admit(hook: Hook, request: &Request, known: &Known) -> Value {
    let verdict = review(hook, request, &known.read());
    if let Verdict::Denied(denied) = &verdict {
        let user = request.user_info.username.as_deref().unwrap_or_default();
        debug!(?hook, user, namespace = request.namespace, name = request.name, %denied, "Refused");
    }
    verdict.answer(&request.uid)
}

fn parse<T: DeserializeOwned>(body: &[u8], version: &str, kind: &str) -> Result<T, String> {
    let wanted = format!("a {kind} of {version} is needed");
    if body.len() > MOST_MEMORY / CONTAINER && memory_of(body) > MOST_MEMORY {
        return Err(format!("{wanted}: this one has too many values"));
    }
    let review: Review<T> = serde_json::from_slice(body).map_err(|error| format!("{wanted}: {error}"))?;
    if review.api_version == version && review.kind == kind {
        Ok(review.request)
    } else {
        Err(format!("{wanted}, not a {} of {}", review.kind, review.api_version))
    }
}

/// The estimated memory of the values in a JSON text, which need not be valid.
fn memory_of(json: &[u8]) -> usize {
    let (mut memory, mut is_text, mut is_escaped) = (0, false, false);
    for byte in json {
        match (is_text, byte) {
            _ if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => is_text = !is_text,
            (false, b'[' | b'{') => memory += CONTAINER,
            (false, b',' | b':') => memory += ITEM,
            _ => {}
        }
    }
    memory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: usize) {
        assert_eq!(memory_of(json.as_bytes()), expected, "{json}");
    }

    #[test]
    fn values_are_weighed_and_texts_are_not() {
        check("7", 0);
        check("[]", CONTAINER);
        check(r#"{"a": [1, 2], "b": {}}"#, 3 * CONTAINER + 4 * ITEM);
        check(r#"["[[{{,,::", "\"[,", "\\", "["]"#, CONTAINER + 3 * ITEM);
    }

    #[test]
    fn a_small_request_of_many_values_is_not_read_and_a_large_policy_is() {
        let review = |object: &str| {
            format!(
                r#"{{"apiVersion": "v1", "kind": "K", "request": {{"object": {object}, "oldObject": {object}}}}}"#
            )
        };
        let list = |item: &str, length: usize| format!("[{}0]", item.repeat(length / item.len()));
        let parse = |text: String| parse::<Value>(text.as_bytes(), "v1", "K").map(drop);
        let error = parse(review(&list("[0],", 2 << 20))).unwrap_err();
        assert_eq!(error, "a K of v1 is needed: this one has too many values");
        let largest = list(r#"{"ipBlock":{"cidr":"10.0.0.0/32"}},"#, 3 << 19);
        assert_eq!(parse(review(&largest)), Ok(()));
    }
}
