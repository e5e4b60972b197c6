//! Controllers that say what they are told to, whatever they are asked.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use antrea_kit::api::StoredAuthority;
use antrea_kit::server::Handler;
use antrea_shared_api::controlplane::v1beta2::NetworkPolicy;
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::protobuf::WATCH_MEDIA_TYPE;
use antrea_shared_api::watch::{EventType, to_frame};
use futures::stream::{self, StreamExt};
use http_body_util::BodyExt;
use http_body_util::StreamBody;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::Response;
use hyper::body::{Bytes, Frame};
use hyper::header::CONTENT_TYPE;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::api::{Speaks, serve};

/// What follows the bytes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Silence,
    End,
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Scripted {
    pub(super) code: u16,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
    pub(super) then: Then,
}

impl Scripted {
    /// A watch that goes on after these bytes.
    pub(super) fn watch(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { code: 200, content_type, body: body.into(), then: Then::Silence }
    }

    /// A watch in protobuf that has everything.
    pub(super) fn good() -> Self {
        Self::watch(WATCH_MEDIA_TYPE, bookmark())
    }

    fn answer(self) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
        // In parts, as they may come.
        let parts: Vec<_> = self.body.chunks(7).map(Bytes::copy_from_slice).collect();
        let parts = stream::iter(parts).map(|part| Ok(Frame::data(part)));
        let body = match self.then {
            Then::End => StreamBody::new(parts.boxed()),
            Then::Silence => StreamBody::new(parts.chain(stream::pending()).boxed()),
        };
        let response = Response::builder().status(self.code).header(CONTENT_TYPE, self.content_type);
        response.body(body.boxed_unsync()).unwrap()
    }
}

pub(super) fn bookmark() -> Vec<u8> {
    let object = NetworkPolicy { metadata: Metadata::bookmark(1), ..NetworkPolicy::default() };
    to_frame(EventType::Bookmark, &object)
}

/// A request, as it came.
pub(super) type Asked = Arc<Mutex<Vec<String>>>;

/// A controller that answers requests about policies in turn, the last answer again and again, and is otherwise silent.
pub(super) struct Actor {
    pub(super) address: SocketAddr,
    pub(super) asked: Asked,
    _stop: DropGuard,
}

impl Actor {
    pub(super) async fn start(authority: &StoredAuthority, speaks: Speaks, script: Vec<Scripted>) -> Self {
        Self::answering(authority, speaks, {
            let script = Mutex::new(VecDeque::from(script));
            move |path: &str| {
                let mut script = script.lock().unwrap();
                match path.contains("/networkpolicies") {
                    true if script.len() > 1 => script.pop_front().unwrap(),
                    true => script.front().unwrap().clone(),
                    false => Scripted::watch(WATCH_MEDIA_TYPE, ""),
                }
            }
        })
        .await
    }

    /// One that answers by the path.
    pub(super) async fn answering(
        authority: &StoredAuthority,
        speaks: Speaks,
        answer: impl Fn(&str) -> Scripted + Send + Sync + 'static,
    ) -> Self {
        let (asked, stop) = (Asked::default(), CancellationToken::new());
        let noted = Arc::clone(&asked);
        let handler: Handler<UnsyncBoxBody<Bytes, Infallible>> = Arc::new(move |request| {
            let path = request.uri().path().to_owned();
            let header = |name: &str| {
                request.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned()
            };
            let uri = request.uri();
            let host = uri.host().map_or_else(|| header("host"), str::to_owned);
            let query = uri.query().unwrap_or_default();
            noted.lock().unwrap().push(format!(
                "{} {host} {path}?{query} accept {} as {}",
                request.method(),
                header("accept"),
                header("authorization")
            ));
            Box::pin(std::future::ready(answer(&path).answer()))
        });
        let address = serve(authority, speaks, handler, stop.clone()).await;
        Self { address, asked, _stop: stop.drop_guard() }
    }
}
