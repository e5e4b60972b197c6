//! A connection to the controller: TLS, and HTTP/2 where the controller speaks it, so that all requests share it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use nix::sys::socket::{setsockopt, sockopt};
use rustls::pki_types::CertificateDer;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use tracing::debug;

use super::call::{CallError, Target};
use super::trust::Trust;

/// How long a connection may take until it can be used.
const CONNECT: Duration = Duration::from_secs(10);

/// How often a silent peer is asked whether it is there, and how long it may take to answer: who is gone is noticed within
/// 30 seconds.
const PING: Duration = Duration::from_secs(15);
const PONG: Duration = Duration::from_secs(10);

/// The same for connections of HTTP/1.1, which the kernel watches: seconds before the first probe, seconds between probes,
/// how many get no answer, and milliseconds that sent data waits for an answer.
const PROBE: (u32, u32, u32, u32) = (15, 5, 3, 30_000);

/// How much a watch may send before it is read, in bytes. This bounds what a connection holds, as there are few watches.
const WATCH_WINDOW: u32 = 64 << 10;

/// The same for all together, far more than they have. The library gives a connection up that holds more small frames than
/// fit to this, and each event is a small frame: a watch that is read slowly must not look like an attack.
const CONNECTION_WINDOW: u32 = 16 << 20;

/// How much the head of an answer may have, in bytes.
const LARGEST_HEAD: u32 = 16 << 10;

/// A connection.
pub(super) struct Connection {
    pub(super) sender: Sender,
    /// What the controller showed, its own certificate first.
    pub(super) certificates: Vec<CertificateDer<'static>>,
}

/// What requests go through.
pub(super) enum Sender {
    /// One request at a time.
    Http1(http1::SendRequest<Full<Bytes>>),
    /// Many.
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Sender {
    pub(super) const fn target<'a>(&self, host: &'a str) -> Target<'a> {
        match self {
            Self::Http1(_) => Target::Header(host),
            Self::Http2(_) => Target::Uri(host),
        }
    }

    pub(super) async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        match self {
            Self::Http1(sender) => sender.send_request(request).await,
            Self::Http2(sender) => sender.send_request(request).await,
        }
    }
}

/// Connects. The connection lasts as long as its sender or a body of an answer does.
pub(super) async fn open(endpoint: SocketAddr, trust: &Trust) -> Result<Connection, CallError> {
    let opened = timeout(CONNECT, try_open(endpoint, trust)).await;
    let opened = opened.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    opened.map_err(|source| CallError::Connect { endpoint, source })
}

async fn try_open(endpoint: SocketAddr, trust: &Trust) -> io::Result<Connection> {
    let stream = TcpStream::connect(endpoint).await?;
    stream.set_nodelay(true)?;
    watch_peer(&stream)?;
    let stream = trust.connect(stream).await?;
    let (_, tls) = stream.get_ref();
    let certificates = tls.peer_certificates().unwrap_or_default().iter().map(|one| one.clone().into_owned());
    let certificates = certificates.collect();
    let sender = match tls.alpn_protocol() {
        Some(b"h2") => Sender::Http2(http2(stream).await.map_err(io::Error::other)?),
        _ => Sender::Http1(http1(stream).await.map_err(io::Error::other)?),
    };
    Ok(Connection { sender, certificates })
}

fn watch_peer(stream: &TcpStream) -> nix::Result<()> {
    let (idle, interval, count, unanswered) = PROBE;
    setsockopt(stream, sockopt::KeepAlive, &true)?;
    setsockopt(stream, sockopt::TcpKeepIdle, &idle)?;
    setsockopt(stream, sockopt::TcpKeepInterval, &interval)?;
    setsockopt(stream, sockopt::TcpKeepCount, &count)?;
    setsockopt(stream, sockopt::TcpUserTimeout, &unanswered)
}

async fn http2(stream: TlsStream<TcpStream>) -> hyper::Result<http2::SendRequest<Full<Bytes>>> {
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PONG)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(WATCH_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(LARGEST_HEAD)
        .handshake(TokioIo::new(stream))
        .await?;
    run(connection);
    Ok(sender)
}

async fn http1(stream: TlsStream<TcpStream>) -> hyper::Result<http1::SendRequest<Full<Bytes>>> {
    let largest_head = LARGEST_HEAD as usize;
    let (sender, connection) =
        http1::Builder::new().max_buf_size(largest_head).handshake(TokioIo::new(stream)).await?;
    run(connection);
    Ok(sender)
}

/// Who waits for an answer is told of a failure, too.
fn run(connection: impl Future<Output = hyper::Result<()>> + Send + 'static) {
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            debug!(%error, "Connection to antrea-controller failed");
        }
    });
}
