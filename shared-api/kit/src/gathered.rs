//! A body whose small parts are sent together, as far as they are there at once. HTTP/2 keeps a record of each part that
//! waits to be sent, and keeps the room for the most that ever waited; TLS wraps each part by itself.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

use crate::server::Sendable;

/// How much is sent together at most, in bytes: what fits a frame of HTTP/2 and a record of TLS.
const MOST: usize = 16 * 1024;

/// A body, and what of it is to be sent next.
pub(crate) struct Gathered<B> {
    body: B,
    next: Option<Frame<Bytes>>,
    ended: bool,
}

impl<B: Sendable> Gathered<B> {
    pub(crate) const fn new(body: B) -> Self {
        Self { body, next: None, ended: false }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Frame<Bytes>>> {
        if self.next.is_some() || self.ended {
            return Poll::Ready(self.next.take());
        }
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        self.ended = frame.is_none();
        Poll::Ready(frame.map(|Ok(frame)| frame))
    }

    /// Adds to a part what follows it, as long as that is there and fits.
    fn gather(&mut self, first: Bytes, context: &mut Context<'_>) -> Bytes {
        let mut gathered = Vec::new();
        while let Poll::Ready(Some(frame)) = self.poll_next(context) {
            let length = first.len().max(gathered.len());
            match frame.data_ref() {
                Some(data) if length + data.len() <= MOST => {
                    if gathered.is_empty() {
                        gathered.extend_from_slice(&first);
                    }
                    gathered.extend_from_slice(data);
                }
                _ => {
                    self.next = Some(frame);
                    break;
                }
            }
        }
        if gathered.is_empty() { first } else { gathered.into() }
    }
}

impl<B: Sendable> Body for Gathered<B> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = std::task::ready!(self.poll_next(context));
        let gathered = frame.map(|frame| match frame.into_data() {
            Ok(data) => Frame::data(self.gather(data, context)),
            Err(trailers) => trailers,
        });
        Poll::Ready(gathered.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.next.is_none() && (self.ended || self.body.is_end_stream())
    }

    /// Of the beginning: nobody asks later.
    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use futures::stream::{self, Stream};
    use http_body_util::{BodyExt, StreamBody};

    use super::*;

    /// The lengths of the parts that are sent.
    fn sent(parts: impl Stream<Item = Vec<u8>> + Send + Unpin + 'static) -> Vec<usize> {
        use futures::StreamExt;

        let parts = parts.map(|part| Ok::<_, Infallible>(Frame::data(Bytes::from(part))));
        let mut body = Gathered::new(StreamBody::new(parts));
        let mut lengths = Vec::new();
        while let Some(Ok(frame)) = block_on(body.frame()) {
            lengths.push(frame.into_data().unwrap().len());
        }
        assert!(body.is_end_stream());
        lengths
    }

    #[track_caller]
    fn check(parts: &[usize], expected: &[usize]) {
        assert_eq!(
            sent(stream::iter(parts.iter().map(|length| vec![0; *length]).collect::<Vec<_>>())),
            expected
        );
    }

    #[test]
    fn small_parts_are_sent_together() {
        check(&[], &[]);
        check(&[7], &[7]);
        check(&[1, 2, 3], &[6]);
        check(&[16_000, 384, 1], &[16_384, 1]);
        check(&[1, 20_000, 1, 2], &[1, 20_000, 3]);
    }

    #[test]
    fn what_is_there_does_not_wait_for_what_is_not() {
        use futures::{FutureExt, StreamExt};

        let late = async {
            tokio::task::yield_now().await;
            vec![0; 3]
        };
        let parts = stream::iter([vec![0; 1], vec![0; 2]]).chain(late.boxed().into_stream());
        assert_eq!(sent(parts), [3, 3]);
    }

    #[test]
    fn parts_are_in_order() {
        let parts = stream::iter(["a", "bc", "d"].map(|part| Ok::<_, Infallible>(Frame::data(part.into()))));
        let all = block_on(Gathered::new(StreamBody::new(parts)).collect()).unwrap().to_bytes();
        assert_eq!(all, "abcd");
    }
}
