//! An HTTP server that no client can exhaust: connections, handshakes, headers and lifetimes have limits.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

pub use crate::listen::BindError;
use crate::listen::listen_everywhere;

/// What a handler answers.
pub type Answer = Response<Full<Bytes>>;

/// Answers requests. It bounds what it reads of their bodies itself.
pub type Handler =
    Arc<dyn Fn(Request<Incoming>) -> Pin<Box<dyn Future<Output = Answer> + Send>> + Send + Sync>;

/// How much of the server one client, or all together, can have.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at the same time; more of them wait in the kernel.
    pub connections: usize,
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
            handshake: Duration::from_secs(10),
            header: Duration::from_secs(30),
            lifetime: Duration::from_secs(600),
        }
    }
}

/// A server that listens, and answers once it runs.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    limits: Limits,
    handler: Handler,
}

impl Server {
    /// Listens on `address`; HTTPS where `tls` is there, HTTP otherwise.
    ///
    /// # Errors
    /// When the socket cannot be had.
    pub async fn bind(
        address: SocketAddr,
        tls: Option<Arc<ServerConfig>>,
        limits: Limits,
        handler: Handler,
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
        handler: Handler,
    ) -> Result<Self, BindError> {
        let (listener, address) = listen_everywhere(port, TcpListener::bind).await?;
        Self::new(listener, address, tls, limits, handler)
    }

    fn new(
        listener: TcpListener,
        address: SocketAddr,
        tls: Option<Arc<ServerConfig>>,
        limits: Limits,
        handler: Handler,
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
        let connections = TaskTracker::new();
        while let Some((stream, permit)) = stop.run_until_cancelled(self.accept(&permits)).await {
            let connection = Connection {
                tls: self.tls.clone(),
                limits: self.limits,
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

/// What serving one connection needs.
struct Connection {
    tls: Option<TlsAcceptor>,
    limits: Limits,
    handler: Handler,
    stop: CancellationToken,
}

impl Connection {
    async fn serve(self, stream: TcpStream) {
        let Some(tls) = &self.tls else {
            return self.serve_http(TokioIo::new(stream)).await;
        };
        match timeout(self.limits.handshake, tls.accept(stream)).await {
            Ok(Ok(stream)) => self.serve_http(TokioIo::new(stream)).await,
            Ok(Err(error)) => debug!(%error, "TLS handshake failed"),
            Err(_) => debug!("TLS handshake took too long"),
        }
    }

    async fn serve_http<Stream: Read + Write + Unpin>(&self, stream: Stream) {
        let service = service_fn(|request| {
            let answer = (self.handler)(request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header)
            .max_buf_size(16 * 1024)
            .serve_connection(stream, service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                timeout(self.limits.handshake, connection.as_mut()).await.unwrap_or(Ok(()))
            }
            () = tokio::time::sleep(self.limits.lifetime) => return debug!("Connection lasted too long"),
        };
        if let Err(error) = ended {
            debug!(%error, "Connection failed");
        }
    }
}
