//! The handler of requests: reads no more of them than it has to, and answers whatever they are.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use antrea_kit::server::{Answer, Client, Handler};
use antrea_kit::status::{json_text, method_not_allowed, no_such_path, status};
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes};
use hyper::{Method, Request as HttpRequest, StatusCode};
use tokio::time::timeout;

use crate::question::Question;
use crate::read_turns::{ReadTurn, ReadTurns, user_of};
use crate::surroundings::Known;

/// How much of a request is read without a turn: nearly all of them are shorter. Whoever sends the head of a request and then
/// nothing has no turn, and keeps nobody waiting.
///
/// The server speaks HTTP/1.1, which has one request at a time on a connection, and has 256 connections of strangers and 64
/// of programs on this machine (`antrea_kit::server::Limits`): they hold 20 MiB, or twice that as buffers grow.
const WITHOUT_A_TURN: usize = 64 << 10;
/// The longest request: an object may have 1.5 MiB in etcd, and is sent as it was and as it is to be.
const LONGEST: usize = 4 << 20;
/// The longest request to convert ClusterSets, enough for about a hundred. The response contains them all.
const LONGEST_CONVERSION: usize = 256 << 10;
/// The longest response. Clients are not authenticated, and a response stays in memory until it is read.
const LONGEST_ANSWER: usize = 512 << 10;
/// How long a request may take to arrive, its turn included: less than API servers wait for an answer.
const PATIENCE: Duration = Duration::from_secs(4);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why there is no request.
enum Unread {
    TooLong,
    Broken(BoxError),
}

/// Answers AdmissionReviews and ConversionReviews with what is known. There is nothing else to mount: paths of others
/// are not there.
pub fn router(known: Known) -> Handler {
    let router = Arc::new(Router::new(known));
    Arc::new(move |request| {
        let router = Arc::clone(&router);
        let source = request.extensions().get::<Client>().map(Client::address);
        Box::pin(async move { router.answer(source, request).await })
    })
}

pub(crate) struct Router {
    known: Known,
    turns: ReadTurns,
}

impl Router {
    pub(crate) fn new(known: Known) -> Self {
        Self { known, turns: ReadTurns::new() }
    }

    /// The answer to a request from an address.
    pub(crate) async fn answer<B>(&self, source: Option<IpAddr>, request: HttpRequest<B>) -> Answer
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
    {
        let Some(question) = Question::at(request.uri().path()) else { return no_such_path() };
        if request.method() != Method::POST {
            return method_not_allowed("POST");
        }
        let longest = if question == Question::Convert { LONGEST_CONVERSION } else { LONGEST };
        let Ok(read) = timeout(PATIENCE, self.read(source, longest, request.into_body())).await else {
            return status(StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time");
        };
        match read {
            // A turn lasts until the answer is there: so many large ones are in memory at once.
            Ok((body, _turn)) => self.reply(question, &body),
            Err(Unread::TooLong) => {
                status(StatusCode::PAYLOAD_TOO_LARGE, &format!("more than {longest} bytes are not read"))
            }
            Err(Unread::Broken(error)) => {
                status(StatusCode::BAD_REQUEST, &format!("the request cannot be read: {error}"))
            }
        }
    }

    /// All of a body, and the turn that it took if it is a large one.
    async fn read<B>(
        &self,
        source: Option<IpAddr>,
        longest: usize,
        mut body: B,
    ) -> Result<(Vec<u8>, Option<ReadTurn<'_>>), Unread>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
    {
        let (mut read, mut turn) = (Vec::<u8>::new(), None);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Unread::Broken(error.into()))?;
            // Trailers are no part of it.
            if let Ok(data) = frame.into_data() {
                read.extend_from_slice(&data);
            }
            if read.len() > longest {
                return Err(Unread::TooLong);
            }
            if read.len() > WITHOUT_A_TURN && turn.is_none() {
                let user = user_of(&read).to_vec();
                turn = Some(self.turns.take(source, user).await);
            }
        }
        Ok((read, turn))
    }

    fn reply(&self, question: Question, body: &[u8]) -> Answer {
        match question.answer(body, &self.known) {
            Ok(answer) => {
                let answer = format!("{answer}\n");
                if answer.len() > LONGEST_ANSWER {
                    return status(StatusCode::INTERNAL_SERVER_ERROR, "the answer would be too long");
                }
                json_text(StatusCode::OK, answer.into())
            }
            Err(message) => status(StatusCode::BAD_REQUEST, &message),
        }
    }
}
