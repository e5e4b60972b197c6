//! One connection of a server, from its TLS handshake to its end.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::gathered::Gathered;
use crate::half_open::HalfOpen;
use crate::request_body::RequestBody;
use crate::server::{Handler, Limits, PeerCertificates, Sendable};

/// How much the head of a request may have, in bytes.
const LARGEST_HEAD: u32 = 16 * 1024;

/// Requests on one connection of HTTP/2 at the same time: several times what an agent has.
const MOST_STREAMS: u32 = 32;

/// How much of an answer is buffered for a client that is slow to read, in bytes.
const SEND_BUFFER: usize = 64 * 1024;

/// How often a connection of HTTP/2 is asked whether its client is still there, and how long that may take to answer.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(20);

/// What serving one connection needs.
pub(crate) struct Connection<B> {
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) limits: Limits,
    pub(crate) half_open: Arc<HalfOpen>,
    pub(crate) handler: Handler<B>,
    pub(crate) stop: CancellationToken,
}

/// A connection that is served. Its parts are in boxes of their own: as one value it would have room for all that was ever
/// needed at once, as long as it lasts.
type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<B: Sendable> Connection<B> {
    pub(crate) async fn serve(self, stream: TcpStream) {
        // An answer is mostly several small writes, and the kernel would hold back all but the first.
        if let Err(error) = stream.set_nodelay(true) {
            return debug!(%error, "Connection is gone");
        }
        let serving = Box::pin(self.begin(stream)).await;
        if let Some(serving) = serving {
            serving.await;
        }
    }

    /// Ends with the handshake, if there is one.
    async fn begin(self, stream: TcpStream) -> Option<Serving> {
        let Some(tls) = self.tls.clone() else {
            return Some(self.serve_http1(stream, None));
        };
        let handshake = self.half_open.begin();
        let failure = match handshake.run(timeout(self.limits.handshake, tls.accept(stream))).await {
            Some(Ok(Ok(stream))) => return Some(self.serve_tls(stream)),
            Some(Ok(Err(error))) => error.to_string(),
            Some(Err(_)) => "it took too long".to_owned(),
            None => "it was given up, because there were too many newer ones".to_owned(),
        };
        debug!(failure, "TLS handshake failed");
        None
    }

    fn serve_tls(self, stream: TlsStream<TcpStream>) -> Serving {
        let (_, tls) = stream.get_ref();
        let certificates = tls.peer_certificates().map(|chain| PeerCertificates(chain.into()));
        match tls.alpn_protocol() {
            Some(b"h2") => self.serve_http2(stream, certificates),
            _ => self.serve_http1(stream, certificates),
        }
    }

    fn serve_http1<Stream>(self, stream: Stream, certificates: Option<PeerCertificates>) -> Serving
    where
        Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = Answers { handler: self.handler, certificates, activity: Arc::default() };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header)
            .max_buf_size(LARGEST_HEAD as usize)
            .serve_connection(TokioIo::new(stream), service);
        Box::pin(drive(Box::pin(connection), pending(), self.limits, self.stop))
    }

    fn serve_http2<Stream>(self, stream: Stream, certificates: Option<PeerCertificates>) -> Serving
    where
        Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let activity = Arc::new(Activity::default());
        let idle = Arc::clone(&activity).idle(self.limits.header);
        let service = Answers { handler: self.handler, certificates, activity };
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(MOST_STREAMS)
            .max_header_list_size(LARGEST_HEAD)
            .max_send_buf_size(SEND_BUFFER)
            .keep_alive_interval(PING)
            .keep_alive_timeout(PONG)
            .serve_connection(TokioIo::new(stream), service);
        Box::pin(drive(Box::pin(connection), idle, self.limits, self.stop))
    }
}

/// Serves until the client or the server has enough, or the connection is idle.
async fn drive<C>(
    mut connection: Pin<Box<C>>,
    idle: impl Future<Output = ()>,
    limits: Limits,
    stop: CancellationToken,
) where
    C: GracefulConnection,
    C::Error: std::fmt::Display,
{
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = stop.cancelled_owned() => None,
        () = idle => None,
        () = sleep(limits.lifetime) => return debug!("Connection lasted too long"),
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            timeout(limits.handshake, connection.as_mut()).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        debug!(%error, "Connection failed");
    }
}

/// Answers the requests of a connection.
struct Answers<B> {
    handler: Handler<B>,
    certificates: Option<PeerCertificates>,
    activity: Arc<Activity>,
}

impl<B: Sendable> Service<Request<Incoming>> for Answers<B> {
    type Response = Response<Counted<B>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        if let Some(certificates) = &self.certificates {
            request.extensions_mut().insert(certificates.clone());
        }
        let under_way = Activity::begin(&self.activity);
        let answer = (self.handler)(request.map(RequestBody::from));
        Box::pin(async move {
            Ok(answer.await.map(|body| Counted { body: Gathered::new(body), _under_way: under_way }))
        })
    }
}

/// The requests of a connection.
#[derive(Debug, Default)]
struct Activity {
    under_way: AtomicUsize,
    begun: AtomicUsize,
}

/// A request that is answered until this is dropped.
struct UnderWay(Arc<Activity>);

impl Activity {
    fn begin(this: &Arc<Self>) -> UnderWay {
        this.under_way.fetch_add(1, Ordering::Relaxed);
        this.begun.fetch_add(1, Ordering::Relaxed);
        UnderWay(Arc::clone(this))
    }

    /// Ends once nothing was asked for so long.
    async fn idle(self: Arc<Self>, period: Duration) {
        loop {
            let begun = self.begun.load(Ordering::Relaxed);
            sleep(period).await;
            if self.under_way.load(Ordering::Relaxed) == 0 && self.begun.load(Ordering::Relaxed) == begun {
                return;
            }
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A body that is under way until all of it is sent.
struct Counted<B> {
    body: Gathered<B>,
    _under_way: UnderWay,
}

impl<B: Sendable> Body for Counted<B> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
