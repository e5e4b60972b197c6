//! One connection of a server, from its TLS handshake to its end.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use rustls::ServerConfig;
use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::auth::ClientCertificates;
use crate::client::{Client, Slot, UnderWay};
use crate::gathered::Gathered;
use crate::request_body::RequestBody;
use crate::server::{Handler, Limits, Sendable};

/// How much the head of a request may have, in bytes.
const LARGEST_HEAD: u32 = 16 * 1024;

/// Requests on one connection of HTTP/2 at the same time: several times what an agent has.
const MOST_STREAMS: u32 = 32;

/// How much of an answer is buffered for a client that is slow to read, in bytes.
const SEND_BUFFER: usize = 64 * 1024;

/// How much of the bodies of requests on one connection of HTTP/2 waits here until somebody reads it, in bytes. What is more
/// waits with the client.
const WINDOW: u32 = 128 * 1024;

/// How often a connection of HTTP/2 is asked whether its client is still there, and how long that may take to answer.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(20);

/// What serving one connection needs.
pub(crate) struct Connection<B> {
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) limits: Limits,
    pub(crate) slot: Arc<Slot>,
    pub(crate) handler: Handler<B>,
    pub(crate) stop: CancellationToken,
}

/// A connection that is served. Its parts are in boxes of their own: as one value it would have room for all that was ever
/// needed at once, as long as it lasts.
type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<B: Sendable> Connection<B> {
    /// Serves until either side has enough, or the connection has to give way to another.
    pub(crate) async fn serve(self, stream: TcpStream) {
        let slot = Arc::clone(&self.slot);
        tokio::select! {
            biased;
            () = slot.lost() => debug!("Connection gave way to others"),
            () = self.serve_in_slot(stream) => {}
        }
    }

    async fn serve_in_slot(self, stream: TcpStream) {
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
        let failure = match timeout(self.limits.handshake, self.shake_hands(tls, stream)).await {
            Ok(Ok(stream)) => return Some(self.serve_tls(stream)),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it took too long".to_owned(),
        };
        debug!(failure, "TLS handshake failed");
        None
    }

    /// Accepts in two steps, because the slot becomes busy only when the ClientHello is complete: until then nothing tells this
    /// connection from those that never send one.
    async fn shake_hands(
        &self,
        tls: Arc<ServerConfig>,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        self.slot.begin_handshake();
        hello.into_stream(tls).await
    }

    fn serve_tls(self, stream: TlsStream<TcpStream>) -> Serving {
        self.slot.finish_handshake();
        let (_, tls) = stream.get_ref();
        let certificates = tls.peer_certificates().map(ClientCertificates::new);
        match tls.alpn_protocol() {
            Some(b"h2") => self.serve_http2(stream, certificates),
            _ => self.serve_http1(stream, certificates),
        }
    }

    fn serve_http1<Stream>(self, stream: Stream, certificates: Option<ClientCertificates>) -> Serving
    where
        Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = Answers { handler: self.handler, client: Client::new(self.slot, certificates) };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header)
            .max_buf_size(LARGEST_HEAD as usize)
            .serve_connection(TokioIo::new(stream), service);
        Box::pin(drive(Box::pin(connection), pending(), self.limits, self.stop))
    }

    fn serve_http2<Stream>(self, stream: Stream, certificates: Option<ClientCertificates>) -> Serving
    where
        Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let slot = Arc::clone(&self.slot);
        let idle = async move { slot.idle(self.limits.header).await };
        let service = Answers { handler: self.handler, client: Client::new(self.slot, certificates) };
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(MOST_STREAMS)
            .max_header_list_size(LARGEST_HEAD)
            .max_send_buf_size(SEND_BUFFER)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
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
    client: Client,
}

impl<B: Sendable> Service<Request<Incoming>> for Answers<B> {
    type Response = Response<Counted<B>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.client.clone());
        let under_way = self.client.slot().begin_request();
        let answer = (self.handler)(request.map(RequestBody::from));
        Box::pin(async move {
            Ok(answer.await.map(|body| Counted { body: Gathered::new(body), _under_way: under_way }))
        })
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
