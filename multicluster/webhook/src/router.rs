//! The handler of requests: reads no more of them than it has to, and answers whatever they are.

use std::sync::Arc;
use std::time::Duration;

use antrea_kit::server::{Answer, Handler};
use antrea_kit::status::{json_answer, method_not_allowed, no_such_path, status};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use hyper::{Method, Request as HttpRequest, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::debug;

use crate::hook::{Hook, review};
use crate::review::{Request, Verdict};
use crate::surroundings::Known;
use crate::{convert, review as admission};

/// Where ClusterSets are converted.
const CONVERT: &str = "/convert-multicluster-crd-antrea-io-clusterset";
/// The longest request: an object may have 1.5 MiB in etcd, and is sent as it was and as it is to be.
const LONGEST: usize = 4 << 20;
/// How many requests are read and answered at once; others wait.
const AT_ONCE: usize = 8;
/// How long a request may take to arrive, its turn included: less than API servers wait for an answer.
const PATIENCE: Duration = Duration::from_secs(4);

/// Answers AdmissionReviews and ConversionReviews with what is known. There is nothing else to mount: paths of others
/// are not there.
pub fn router(known: Known) -> Handler {
    let router = Arc::new(Router::new(known));
    Arc::new(move |request| {
        let router = Arc::clone(&router);
        Box::pin(async move { router.answer(request).await })
    })
}

pub(crate) struct Router {
    known: Known,
    turns: Semaphore,
}

/// What is asked.
#[derive(Clone, Copy)]
enum Question {
    Review(Hook),
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

impl Router {
    pub(crate) fn new(known: Known) -> Self {
        Self { known, turns: Semaphore::new(AT_ONCE) }
    }

    pub(crate) async fn answer<B>(&self, request: HttpRequest<B>) -> Answer
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let question = match request.uri().path() {
            CONVERT => Question::Convert,
            path => match Hook::at(path) {
                Some(hook) => Question::Review(hook),
                None => return no_such_path(),
            },
        };
        if request.method() != Method::POST {
            return method_not_allowed("POST");
        }
        let arrive = async {
            // The semaphore is never closed.
            let turn = self.turns.acquire().await;
            (turn, Limited::new(request.into_body(), LONGEST).collect().await)
        };
        let Ok((_turn, body)) = timeout(PATIENCE, arrive).await else {
            return status(StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time");
        };
        match body {
            Ok(body) => self.reply(question, &body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => {
                status(StatusCode::PAYLOAD_TOO_LARGE, &format!("more than {LONGEST} bytes are not read"))
            }
            Err(error) => status(StatusCode::BAD_REQUEST, &format!("the request cannot be read: {error}")),
        }
    }

    fn reply(&self, question: Question, body: &[u8]) -> Answer {
        let answer = match question {
            Question::Review(hook) => parse(body, admission::API_VERSION, "AdmissionReview")
                .map(|request| self.review(hook, &request)),
            Question::Convert => parse(body, convert::API_VERSION, "ConversionReview")
                .map(|request: convert::Request| request.answer(&self.known.read())),
        };
        match answer {
            Ok(answer) => json_answer(StatusCode::OK, &answer),
            Err(message) => status(StatusCode::BAD_REQUEST, &message),
        }
    }

    fn review(&self, hook: Hook, request: &Request) -> Value {
        let verdict = review(hook, request, &self.known.read());
        if let Verdict::Denied(denied) = &verdict {
            let user = request.user_info.username.as_deref().unwrap_or_default();
            debug!(?hook, user, namespace = request.namespace, name = request.name, %denied, "Refused");
        }
        verdict.answer(&request.uid)
    }
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
