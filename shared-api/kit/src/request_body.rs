//! The body of a request. What is not read of it is thrown away as it comes, within bounds, while the client gets its
//! answer: clients that are told to stop in the middle of a body take that for the end of the request, and some of
//! them lose the answer that they were sent.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::runtime::Handle;
use tokio::time::timeout;

/// How much of a body is thrown away before the client is told to stop, in bytes, and for how long.
const MOST: usize = 256 * 1024;
const TIME: Duration = Duration::from_secs(5);

/// What a client sends after the head of its request. Whoever reads it bounds it.
#[derive(Debug)]
pub struct RequestBody(Option<Incoming>);

impl From<Incoming> for RequestBody {
    fn from(body: Incoming) -> Self {
        Self(Some(body))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.0 {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), Incoming::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let rest = self.0.take().filter(|body| !body.is_end_stream());
        // Without a runtime the server is gone, too.
        if let (Some(rest), Ok(runtime)) = (rest, Handle::try_current()) {
            runtime.spawn(timeout(TIME, throw_away(rest)));
        }
    }
}

/// Ends with the body, or when it is too long.
async fn throw_away(mut body: Incoming) {
    use http_body_util::BodyExt;

    let mut thrown = 0;
    while let (true, Some(Ok(frame))) = (thrown < MOST, body.frame().await) {
        thrown += frame.data_ref().map_or(0, Bytes::len);
    }
}
