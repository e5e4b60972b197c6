//! An HTTP server that no client can exhaust. Connections, handshakes, headers and lifetimes have limits, and a server
//! that is full takes a new connection all the same: another one gives way ([`Slots`]).
//!
//! It speaks HTTP/1.1, and HTTP/2 with clients that agree on it in the TLS handshake (ALPN), where the TLS
//! configuration offers it.

use std::convert::Infallible;
use std::future::Future;
use std::net::{Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Bytes};
use hyper::{Request, Response};
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::client::Connections;
pub use crate::client::{Client, print_evicted};
use crate::connection::Connection;
pub use crate::listen::BindError;
use crate::listen::{Listener, listen_everywhere};
use crate::request_body::RequestBody;
pub use crate::slots::Slots;
use crate::slots::Standing;

/// What a handler answers; the body is sent at once, or as it comes.
pub type Answer<B = Full<Bytes>> = Response<B>;

/// Answers requests. It bounds what it reads of their bodies itself, and need not read them.
pub type Handler<B = Full<Bytes>> =
    Arc<dyn Fn(Request<RequestBody>) -> Pin<Box<dyn Future<Output = Answer<B>> + Send>> + Send + Sync>;

/// A body that can be sent.
pub trait Sendable: Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static {}

impl<B: Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static> Sendable for B {}

/// How many connections are taken before those that are there go on: a crowd that connects does not stop them.
const AT_ONCE: usize = 16;

/// How much of the server one client, or all together, can have.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at the same time.
    pub slots: Slots,
    /// How long a TLS handshake may take.
    pub handshake: Duration,
    /// How long the head of a request may take, and how long a connection may be idle before it.
    pub header: Duration,
    /// How long a connection may last.
    pub lifetime: Duration,
}

impl Limits {
    /// Those of a server that few ask.
    pub const DEFAULT: Self = Self {
        slots: Slots { handshakes: 512, anonymous: 256, admitted: 512, loopback: 64 },
        handshake: Duration::from_secs(10),
        header: Duration::from_secs(30),
        lifetime: Duration::from_secs(600),
    };

    /// What is wrong with them: no client would be served, or a limit would never be reached.
    const fn problem(&self) -> Option<&'static str> {
        let Slots { handshakes, anonymous, admitted, loopback } = self.slots;
        if handshakes == 0 || anonymous == 0 || admitted == 0 || loopback == 0 {
            return Some("every kind of connection needs a slot");
        }
        if self.handshake.as_nanos() > self.lifetime.as_nanos()
            || self.header.as_nanos() > self.lifetime.as_nanos()
        {
            return Some(
                "a connection ends before its handshake or its first request may have taken too long",
            );
        }
        None
    }

    /// Refuses the ones that contradict each other for a server on `address`.
    fn check(&self, address: SocketAddr) -> Result<(), BindError> {
        self.problem().map_or(Ok(()), |problem| Err(BindError::Limits { address, problem }))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A server that listens, and answers once it runs.
pub struct Server<B = Full<Bytes>> {
    listener: Listener,
    tls: Option<Arc<ServerConfig>>,
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
        limits.check(address)?;
        let listener = Listener::bind(address).map_err(|source| BindError::Listen { address, source })?;
        Ok(Self::new(listener, tls, limits, handler))
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
        limits.check((Ipv6Addr::UNSPECIFIED, port).into())?;
        Ok(Self::new(listen_everywhere(port, Listener::bind)?, tls, limits, handler))
    }

    fn new(listener: Listener, tls: Option<Arc<ServerConfig>>, limits: Limits, handler: Handler<B>) -> Self {
        Self { listener, tls, limits, handler }
    }

    /// Where it listens; the port that the kernel chose where 0 was asked for.
    pub const fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr()
    }

    /// Answers until `stop`. Requests that are under way are then still answered.
    ///
    /// # Errors
    /// Never: a connection that fails is its client's affair. The type is that of a component.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let slots = Connections::new(self.limits.slots);
        let standing = if self.tls.is_some() { Standing::Handshake } else { Standing::Anonymous };
        let connections = TaskTracker::new();
        let mut taken = 0;
        while let Some((stream, from)) = stop.run_until_cancelled(self.accept()).await {
            let connection = Connection {
                tls: self.tls.clone(),
                limits: self.limits,
                slot: slots.open(from, standing),
                handler: Arc::clone(&self.handler),
                stop: stop.clone(),
            };
            connections.spawn(connection.serve(stream));
            taken += 1;
            if taken % AT_ONCE == 0 {
                tokio::task::yield_now().await;
            }
        }
        connections.close();
        connections.wait().await;
        Ok(())
    }

    async fn accept(&self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok(accepted) => return accepted,
                Err(error) => {
                    // Out of file descriptors, for example: trying again at once would only burn the CPU.
                    warn!(%error, address = %self.local_addr(), "Connection could not be accepted");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_checked_against_each_other() {
        let limits = Limits::DEFAULT;
        assert_eq!(limits.problem(), None);
        let slots = Slots { loopback: 0, ..limits.slots };
        assert_eq!(Limits { slots, ..limits }.problem(), Some("every kind of connection needs a slot"));
        for wrong in [
            Limits { lifetime: Duration::from_secs(9), ..limits },
            Limits { header: Duration::from_secs(601), ..limits },
        ] {
            assert!(wrong.problem().is_some(), "{wrong:?}");
        }
    }
}
