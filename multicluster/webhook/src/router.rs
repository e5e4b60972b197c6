//! The handler of requests: reads no more of them than it has to, and answers whatever they are.

use std::sync::Arc;
use std::time::Duration;

use antrea_kit::server::{Answer, Handler};
use antrea_kit::status::{json_answer, method_not_allowed, no_such_path, status};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use hyper::{Method, Request as HttpRequest, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::question::Question;
use crate::surroundings::Known;

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

impl Router {
    pub(crate) fn new(known: Known) -> Self {
        Self { known, turns: Semaphore::new(AT_ONCE) }
    }

    pub(crate) async fn answer<B>(&self, request: HttpRequest<B>) -> Answer
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let Some(question) = Question::at(request.uri().path()) else { return no_such_path() };
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
        match question.answer(body, &self.known) {
            Ok(answer) => json_answer(StatusCode::OK, &answer),
            Err(message) => status(StatusCode::BAD_REQUEST, &message),
        }
    }
}
