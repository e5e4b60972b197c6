//! nf_tables over netlink, as little of it as Antrea needs to do without a process.

mod attributes;
mod message;

use std::fmt;
use std::io;

use netlink_sys::protocols::NETLINK_NETFILTER;
use tokio::sync::Mutex;

pub(crate) use attributes::{Attributes, attribute, attributes, text_attribute};
pub(crate) use message::{Batch, NftFamily, NftMessage};
use message::{Message, dump_request, messages};

use crate::blocking;
use crate::kernel_socket::KernelSocket;

/// A connection to nf_tables, on which one request is made at a time.
///
/// It is kept, since closing one is slow: the kernel lets what was removed before go first, which takes grace periods,
/// and keeps everybody else who changes something waiting meanwhile.
pub(crate) struct Nftables(Mutex<KernelSocket>);

impl fmt::Debug for Nftables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nftables")
    }
}

impl Nftables {
    /// Connects in the namespace of the calling thread.
    pub(crate) fn current() -> io::Result<Self> {
        KernelSocket::connect(NETLINK_NETFILTER).map(|socket| Self(Mutex::new(socket)))
    }

    /// Sends a batch, which the kernel takes as a whole or refuses as a whole.
    pub(crate) async fn commit(&self, batch: Batch) -> io::Result<()> {
        let mut socket = self.0.lock().await;
        blocking(|| commit(&mut socket, &batch))
    }

    /// Asks for all objects of a kind, and returns the attributes of each that `read` finds something in.
    pub(crate) async fn dump<T>(
        &self,
        family: NftFamily,
        message: NftMessage,
        attributes: &Attributes,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> io::Result<Vec<T>> {
        let mut socket = self.0.lock().await;
        blocking(|| {
            let first = socket.take(1);
            dump(&socket, &dump_request(family, message, attributes, first), first, read)
        })
    }
}

fn commit(socket: &mut KernelSocket, batch: &Batch) -> io::Result<()> {
    let count = u32::try_from(batch.len()).map_err(io::Error::other)?;
    let first = socket.take(count.saturating_add(2));
    socket.send(&batch.messages(first))?;
    let mut acknowledged = 0;
    while acknowledged < count {
        for message in receive(socket, first)? {
            if let Some(result) = message.acknowledgement() {
                result?;
                acknowledged += 1;
            }
        }
    }
    Ok(())
}

fn dump<T>(
    socket: &KernelSocket,
    request: &[u8],
    first: u32,
    read: impl Fn(&[u8]) -> Option<T>,
) -> io::Result<Vec<T>> {
    socket.send(request)?;
    let mut found = Vec::new();
    loop {
        for message in receive(socket, first)? {
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

/// Messages that have come, without what was left of requests before the one that began with number `first`: after the
/// first refusal nobody reads on.
fn receive(socket: &KernelSocket, first: u32) -> io::Result<Vec<Message>> {
    let mut messages = messages(&socket.receive()?);
    messages.retain(|message| message.is_since(first));
    Ok(messages)
}
