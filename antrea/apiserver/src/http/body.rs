//! Bodies of answers: all at once, or the events of a watch as they come.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use http_body_util::Full;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};

use crate::shared_store::Subscription;
use crate::store::{Encoding, Event};

/// The body of an answer.
pub enum Body {
    /// All at once.
    Whole(Full<Bytes>),
    /// A watch.
    Watch(Box<WatchBody>),
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
            Self::Watch(watch) => watch.poll_next(context).map(|part| part.map(|part| Ok(Frame::data(part)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Watch(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Watch(_) => SizeHint::default(),
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Whole(Full::new(Bytes::from(bytes)))
    }
}
