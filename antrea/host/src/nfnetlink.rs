//! nf_tables over netlink, as little of it as Antrea needs to do without a process.

mod message;

use std::fmt;
use std::io;

use futures::future::poll_fn;
use netlink_sys::{AsyncSocket, AsyncSocketExt, SocketAddr, TokioSocket, protocols::NETLINK_NETFILTER};
use tokio::sync::Mutex;

pub(crate) use message::{Attributes, Batch, NftFamily, NftMessage, text_attribute};
use message::{Message, dump_request, messages};

/// A connection to nf_tables, on which one request is made at a time.
///
/// It is kept, since closing one is slow: the kernel lets what was removed before go first, which takes grace periods,
/// and keeps everybody else who changes something waiting meanwhile.
pub(crate) struct Nftables(Mutex<Session>);

struct Session {
    socket: TokioSocket,
    sequence: u32,
}

impl fmt::Debug for Nftables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nftables")
    }
}

impl Nftables {
    /// Connects in the namespace of the calling thread. Must be called within a tokio runtime.
    pub(crate) fn current() -> io::Result<Self> {
        let mut socket = TokioSocket::new(NETLINK_NETFILTER)?;
        socket.socket_mut().bind_auto()?;
        Ok(Self(Mutex::new(Session { socket, sequence: 0 })))
    }

    /// Sends a batch, and waits until the kernel has taken all of it or refused all of it.
    pub(crate) async fn commit(&self, batch: Batch) -> io::Result<()> {
        let mut session = self.0.lock().await;
        let count = u32::try_from(batch.len()).map_err(io::Error::other)?;
        let first = session.take(count.saturating_add(2));
        session.send(&batch.messages(first)).await?;
        let mut acknowledged = 0;
        while acknowledged < count {
            for message in session.receive(first).await? {
                if let Some(result) = message.acknowledgement() {
                    result?;
                    acknowledged += 1;
                }
            }
        }
        Ok(())
    }

    /// Asks for all objects of a kind, and returns the attributes of each that `read` finds something in.
    pub(crate) async fn dump<T>(
        &self,
        family: NftFamily,
        message: NftMessage,
        attributes: &Attributes,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> io::Result<Vec<T>> {
        let mut session = self.0.lock().await;
        let first = session.take(1);
        session.send(&dump_request(family, message, attributes, first)).await?;
        let mut found = Vec::new();
        loop {
            for message in session.receive(first).await? {
                if message.ends_dump() {
                    return Ok(found);
                }
                if let Some(result) = message.acknowledgement() {
                    result?;
                }
                found.extend(message.attributes().and_then(&read));
            }
        }
    }
}

impl Session {
    /// Numbers for so many messages; returns the first.
    const fn take(&mut self, count: u32) -> u32 {
        let first = self.sequence.wrapping_add(1);
        self.sequence = self.sequence.wrapping_add(count);
        first
    }

    async fn send(&mut self, request: &[u8]) -> io::Result<()> {
        let kernel = SocketAddr::new(0, 0);
        poll_fn(|context| self.socket.poll_send_to(context, request, &kernel)).await.map(drop)
    }

    /// Messages that have come, without what was left of requests before the one that began with number `first`: after
    /// the first refusal nobody reads on.
    async fn receive(&mut self, first: u32) -> io::Result<Vec<Message>> {
        let (bytes, _) = self.socket.recv_from_full().await?;
        let mut messages = messages(&bytes);
        messages.retain(|message| message.is_since(first));
        Ok(messages)
    }
}
