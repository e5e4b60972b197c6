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
    let review: Review<T> = serde_json::from_slice(body).map_err(|error| format!("{wanted}: {error}"))?;
    if review.api_version == version && review.kind == kind {
        Ok(review.request)
    } else {
        Err(format!("{wanted}, not a {} of {}", review.kind, review.api_version))
    }
}
