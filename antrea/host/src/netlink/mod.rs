//! rtnetlink in one network namespace. What is asked for is compared with what is there; nothing is sent for what is
//! as it should be.

mod addresses;
mod links;
mod neighbours;
mod routes;
mod veth;

use std::io;
use std::sync::Arc;

use futures::StreamExt;
use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use rtnetlink::Handle;
use tokio::sync::OnceCell;

pub use links::{AdminState, Arp, Link, LinkSettings};
pub use veth::{Veth, VethEnd};

use crate::ingress_drop::{IngressDropError, IngressDrops};
use crate::{Netns, NetnsError};

/// A connection to the kernel's routing and link tables. Clones share it; it closes with the last of them.
#[derive(Clone, Debug)]
pub struct Netlink {
    handle: Handle,
    ingress_drops: Arc<OnceCell<Arc<IngressDrops>>>,
}

/// The kernel refused something, or could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// No netlink socket can be opened.
    #[error("cannot open a netlink socket")]
    Socket(#[source] io::Error),
    /// The namespace cannot be entered.
    #[error("cannot open a netlink socket in another network namespace")]
    Netns(#[from] NetnsError),
    /// The kernel refused.
    #[error("cannot {operation}")]
    Refused {
        /// What was asked for.
        operation: String,
        /// The answer.
        #[source]
        source: io::Error,
    },
    /// The connection is gone, which happens when the runtime shuts down.
    #[error("cannot {operation}: the netlink connection is closed")]
    Closed {
        /// What was asked for.
        operation: String,
    },
    /// There is no such interface.
    #[error("there is no interface {0}")]
    NoInterface(antrea_types::InterfaceName),
}

impl NetlinkError {
    /// Whether the kernel answered with this error number.
    fn is(&self, errno: nix::errno::Errno) -> bool {
        matches!(self, Self::Refused { source, .. } if source.raw_os_error() == Some(errno as i32))
    }

    /// Whether the thing asked for exists already.
    pub fn is_exists(&self) -> bool {
        self.is(nix::errno::Errno::EEXIST)
    }

    /// Whether the thing asked for does not exist; the kernel has a different number for each kind of thing.
    pub fn is_absent(&self) -> bool {
        use nix::errno::Errno;
        matches!(self, Self::NoInterface(_))
            || [Errno::ENODEV, Errno::ESRCH, Errno::ENOENT, Errno::EADDRNOTAVAIL]
                .iter()
                .any(|errno| self.is(*errno))
    }
}

impl Netlink {
    /// Connects in the namespace of the calling thread. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// No socket can be opened.
    pub fn current() -> Result<Self, NetlinkError> {
        let (connection, handle, _notifications) =
            rtnetlink::new_connection().map_err(NetlinkError::Socket)?;
        tokio::spawn(connection);
        Ok(Self { handle, ingress_drops: Arc::default() })
    }

    /// The ingress drops of the namespace. They are connected to when they are needed first, by a thread that must be in
    /// that namespace, in the runtime that they are used in from then on.
    pub(crate) async fn ingress_drops(&self) -> Result<Arc<IngressDrops>, IngressDropError> {
        let connect = || async { IngressDrops::current().map(Arc::new) };
        self.ingress_drops.get_or_try_init(connect).await.cloned()
    }

    /// Connects in another namespace.
    ///
    /// # Errors
    /// The namespace cannot be entered, or no socket can be opened there.
    pub async fn in_netns(netns: &Netns) -> Result<Self, NetlinkError> {
        let runtime = tokio::runtime::Handle::current();
        netns
            .run(move || {
                let _context = runtime.enter();
                Self::current()
            })
            .await?
    }

    /// Sends a request and waits until the kernel has done it.
    async fn execute(
        &self,
        message: RouteNetlinkMessage,
        flags: u16,
        operation: impl Fn() -> String,
    ) -> Result<(), NetlinkError> {
        self.request(message, NLM_F_REQUEST | NLM_F_ACK | flags, &operation).await.map(drop)
    }

    /// Asks for all objects of a kind.
    async fn dump(
        &self,
        message: RouteNetlinkMessage,
        operation: impl Fn() -> String,
    ) -> Result<Vec<RouteNetlinkMessage>, NetlinkError> {
        self.request(message, NLM_F_REQUEST | NLM_F_DUMP, &operation).await
    }

    async fn request(
        &self,
        message: RouteNetlinkMessage,
        flags: u16,
        operation: &impl Fn() -> String,
    ) -> Result<Vec<RouteNetlinkMessage>, NetlinkError> {
        let mut request = NetlinkMessage::from(message);
        request.header.flags = flags;
        let closed = |_| NetlinkError::Closed { operation: operation() };
        let mut answers = self.handle.clone().request(request).map_err(closed)?;
        let mut messages = Vec::new();
        while let Some(answer) = answers.next().await {
            match answer.payload {
                NetlinkPayload::InnerMessage(message) => messages.push(message),
                NetlinkPayload::Error(error) if error.code.is_some() => {
                    return Err(NetlinkError::Refused { operation: operation(), source: error.to_io() });
                }
                _ => {}
            }
        }
        Ok(messages)
    }
}
