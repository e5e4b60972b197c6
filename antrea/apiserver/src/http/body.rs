//! Bodies of answers: all at once, or the events of a watch as they come.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use http_body_util::Full;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};

use super::places::Place;
use crate::shared_store::Subscription;
use crate::store::{Encoding, Event};

/// How much of a [`HeldBody`] is handed to the connection at once, in bytes.
const PART: usize = 16 * 1024;

/// The body of an answer.
pub enum Body {
    /// All at once: it is short, or the same for all.
    Whole(Full<Bytes>),
    /// In parts, as the client fetches them.
    Held(HeldBody),
    /// A watch.
    Watch(Box<WatchBody>),
}

/// A body that may be long. Its holder keeps a place until the last part is handed to the connection.
pub struct HeldBody {
    /// Gives all of it with the first part.
    whole: Full<Bytes>,
    rest: Bytes,
    _place: Place,
}

impl HeldBody {
    /// The next part, copied: while it waits in the connection it does not keep the whole.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.rest.is_empty()
            && let Some(Ok(whole)) = std::task::ready!(Pin::new(&mut self.whole).poll_frame(context))
        {
            self.rest = whole.into_data().unwrap_or_default();
        }
        let part = self.rest.split_to(self.rest.len().min(PART));
        Poll::Ready(Some(Bytes::copy_from_slice(&part)).filter(|part| !part.is_empty()))
    }
}

impl Body {
    /// The same body, which holds this place until it is dropped; a watch has its own.
    pub(super) fn holding(self, place: Place) -> Self {
        match self {
            Self::Whole(whole) => Self::Held(HeldBody { whole, rest: Bytes::new(), _place: place }),
            other => other,
        }
    }
}

/// The events of a watch: what there was, a bookmark, and what happens until it ends.
pub struct WatchBody {
    /// Dropped before the subscription, which gives it back.
    snapshot: Option<vec::IntoIter<Arc<Event>>>,
    bookmark: Option<Bytes>,
    /// Nothing ever happens to objects of which there are none.
    subscription: Option<Subscription>,
    encoding: Encoding,
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl WatchBody {
    pub(super) fn new(
        mut subscription: Option<Subscription>,
        bookmark: Bytes,
        encoding: Encoding,
        end: Pin<Box<dyn Future<Output = ()> + Send>>,
    ) -> Self {
        let snapshot =
            subscription.as_mut().map(|subscription| std::mem::take(&mut subscription.watch.snapshot));
        let snapshot = snapshot.map(Vec::into_iter);
        Self { snapshot, bookmark: Some(bookmark), subscription, encoding, end }
    }

    /// The next part; nothing when the watch is over.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.end.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        if let Some(event) = self.snapshot.as_mut().and_then(Iterator::next) {
            return Poll::Ready(event.encoded(self.encoding));
        }
        if let Some(bookmark) = self.bookmark.take() {
            self.snapshot = None;
            self.subscription.iter_mut().for_each(Subscription::give_back);
            return Poll::Ready(Some(bookmark));
        }
        let Some(subscription) = &mut self.subscription else { return Poll::Pending };
        let event = std::task::ready!(subscription.watch.events.poll_next(context));
        Poll::Ready(event.and_then(|event| event.encoded(self.encoding)))
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(context),
            Self::Held(held) => held.poll_next(context).map(|part| part.map(|part| Ok(Frame::data(part)))),
            Self::Watch(watch) => watch.poll_next(context).map(|part| part.map(|part| Ok(Frame::data(part)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Held(held) => held.rest.is_empty() && held.whole.is_end_stream(),
            Self::Watch(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Held(held) if held.rest.is_empty() => held.whole.size_hint(),
            Self::Held(held) => SizeHint::with_exact(held.rest.len() as u64),
            Self::Watch(_) => SizeHint::default(),
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Whole(Full::new(Bytes::from(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use antrea_kit::auth::{Holder, Identity};
    use http_body_util::BodyExt;

    use super::super::places::Places;
    use super::*;

    #[tokio::test]
    async fn an_answer_has_its_place_until_all_of_it_was_fetched() {
        let (places, holder) = (Places::for_requests(), Arc::new(Holder::of(&Identity::Anonymous, None)));
        let whole: Vec<u8> = (0..PART * 2 + 7).map(|number| number.to_le_bytes()[0]).collect();
        let mut bodies = Vec::new();
        while let Some(place) = places.take(&holder) {
            bodies.push(Body::from(whole.clone()).holding(place));
        }
        let mut body = bodies.pop().unwrap();
        assert_eq!(body.size_hint().exact(), Some(whole.len() as u64));
        let mut fetched = Vec::new();
        while !body.is_end_stream() {
            assert!(places.take(&holder).is_none(), "after {} bytes", fetched.len());
            let part = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert!(part.len() <= PART);
            fetched.extend_from_slice(&part);
        }
        assert_eq!(fetched, whole);
        assert!(body.frame().await.is_none());
        drop(body);
        assert!(places.take(&holder).is_some());
    }
}
