//! An HTTP server that no client can exhaust: connections, handshakes, headers and lifetimes have limits.
//!
//! It speaks HTTP/1.1, and HTTP/2 with clients that agree on it in the TLS handshake (ALPN), where the TLS
//! configuration offers it.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Bytes};
use hyper::{Request, Response};
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::connection::Connection;
use crate::half_open::HalfOpen;
pub use crate::listen::BindError;
use crate::listen::listen_everywhere;
use crate::request_body::RequestBody;

/// What a handler answers; the body is sent at once, or as it comes.
pub type Answer<B = Full<Bytes>> = Response<B>;

/// Answers requests. It bounds what it reads of their bodies itself, and need not read them.
pub type Handler<B = Full<Bytes>> =
    Arc<dyn Fn(Request<RequestBody>) -> Pin<Box<dyn Future<Output = Answer<B>> + Send>> + Send + Sync>;

/// A body that can be sent.
pub trait Sendable: Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static {}

impl<B: Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static> Sendable for B {}

/// The certificates that the client showed, its own first: an extension of its requests, where the server asks for them.
/// Whoever has them has the key, too; who vouches for them is for the handler to find out.
#[derive(Clone, Debug)]
pub struct PeerCertificates(pub Arc<[CertificateDer<'static>]>);

/// How much of the server one client, or all together, can have.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at the same time; more of them wait in the kernel.
    pub connections: usize,
    /// Connections of those that have not ended their handshake; when there are more, the oldest are closed.
    pub half_open: usize,
    /// How long a TLS handshake may take.
    pub handshake: Duration,
    /// How long the head of a request may take, and how long a connection may be idle before it.
    pub header: Duration,
    /// How long a connection may last.
    pub lifetime: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 100,
            half_open: 100,
            handshake: Duration::from_secs(10),
            header: Duration::from_secs(30),
            lifetime: Duration::from_secs(600),
        }
    }
}

/// A server that listens, and answers once it runs.
pub struct Server<B = Full<Bytes>> {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    limits: Limits,
    handler: Handler<B>,
}

impl<B: Sendable> Server<B> {
    /// Listens on `address`; HTTPS where `tls` is there, HTTP otherwise.
    ///
    /// # Errors
    /// When the socket cannot be had.
    pub async fn bind(
        address: SocketAddr,
        tls: Option<Arc<ServerConfig>>,
        limits: Limits,
        handler: Handler<B>,
    ) -> Result<Self, BindError> {
        let listener = TcpListener::bind(address).await.map_err(|source| BindError { address, source })?;
        Self::new(listener, address, tls, limits, handler)
    }

    /// Listens on `port` of all addresses, IPv4 and IPv6; of those of IPv4 alone where the kernel has no IPv6.
    ///
    /// # Errors
    /// When the socket cannot be had.
    pub async fn bind_everywhere(
        port: u16,
        tls: Option<Arc<ServerConfig>>,
        limits: Limits,
        handler: Handler<B>,
    ) -> Result<Self, BindError> {
        let (listener, address) = listen_everywhere(port, TcpListener::bind).await?;
        Self::new(listener, address, tls, limits, handler)
    }

    fn new(
        listener: TcpListener,
        address: SocketAddr,
        tls: Option<Arc<ServerConfig>>,
        limits: Limits,
        handler: Handler<B>,
    ) -> Result<Self, BindError> {
        let address = listener.local_addr().map_err(|source| BindError { address, source })?;
        Ok(Self { listener, address, tls: tls.map(TlsAcceptor::from), limits, handler })
    }

    /// Where it listens; the port that the kernel chose where 0 was asked for.
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop`. Requests that are under way are then still answered.
    ///
    /// # Errors
    /// Never: a connection that fails is its client's affair. The type is that of a component.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let permits = Arc::new(Semaphore::new(self.limits.connections));
        let half_open = HalfOpen::at_most(self.limits.half_open);
        let connections = TaskTracker::new();
        while let Some((stream, permit)) = stop.run_until_cancelled(self.accept(&permits)).await {
            let connection = Connection {
                tls: self.tls.clone(),
                limits: self.limits,
                half_open: Arc::clone(&half_open),
                handler: Arc::clone(&self.handler),
                stop: stop.clone(),
            };
            connections.spawn(async move {
                connection.serve(stream).await;
                drop(permit);
            });
        }
        connections.close();
        connections.wait().await;
        Ok(())
    }

    /// The next connection, once there is room for it.
    async fn accept(&self, permits: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
        loop {
            let Ok(permit) = Arc::clone(permits).acquire_owned().await else {
                return std::future::pending().await;
            };
            match self.listener.accept().await {
                Ok((stream, _)) => return (stream, permit),
                Err(error) => {
                    // Out of file descriptors, for example: trying again at once would only burn the CPU.
                    warn!(%error, address = %self.address, "Connection could not be accepted");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}
