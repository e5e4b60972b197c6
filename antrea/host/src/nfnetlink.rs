//! Messages of nf_tables over netlink (linux/netfilter/nfnetlink.h, nf_tables.h): batches and dumps, as little of it
//! as Antrea needs to do without a process.

use std::fmt;
use std::io;

use futures::future::poll_fn;
use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};
use netlink_sys::{AsyncSocket, AsyncSocketExt, SocketAddr, TokioSocket, protocols::NETLINK_NETFILTER};
use tokio::sync::Mutex;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NFNL_MSG_BATCH_BEGIN: u16 = 0x10;
const NFNL_MSG_BATCH_END: u16 = 0x11;
const NFNL_SUBSYS_NFTABLES: u16 = 10;
const NLA_F_NESTED: u16 = 0x8000;
const NETLINK_HEADER_BYTES: usize = 16;
const FAMILY_HEADER_BYTES: usize = 4;

/// A family of tables (linux/netfilter.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NftFamily {
    Ipv4 = 2,
    Netdev = 5,
    Ipv6 = 10,
}

/// A kind of nf_tables message (enum nf_tables_msg_types).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NftMessage {
    NewTable = 0,
    DeleteTable = 2,
    NewChain = 3,
    GetChain = 4,
    DeleteChain = 5,
}

/// Attributes of a netlink message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes(Vec<u8>);

impl Attributes {
    /// A zero-terminated text.
    pub(crate) fn text(self, kind: u16, text: &str) -> Self {
        let mut value = text.as_bytes().to_vec();
        value.push(0);
        self.raw(kind, &value)
    }

    /// A number in network order.
    pub(crate) fn number(self, kind: u16, number: u32) -> Self {
        self.raw(kind, &number.to_be_bytes())
    }

    /// Attributes in an attribute.
    pub(crate) fn nested(self, kind: u16, inner: &Self) -> Self {
        self.raw(kind | NLA_F_NESTED, &inner.0)
    }

    fn raw(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }
}

/// Changes that are made together or not at all.
#[derive(Debug)]
pub(crate) struct Batch {
    family: NftFamily,
    changes: Vec<(NftMessage, u16, Attributes)>,
}

impl Batch {
    pub(crate) const fn new(family: NftFamily) -> Self {
        Self { family, changes: Vec::new() }
    }

    pub(crate) fn change(mut self, message: NftMessage, flags: u16, attributes: &Attributes) -> Self {
        self.changes.push((message, NLM_F_REQUEST | NLM_F_ACK | flags, attributes.clone()));
        self
    }

    /// The messages with their frame, counted up from `sequence`.
    fn messages(&self, mut sequence: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let frame = |bytes: &mut Vec<u8>, kind, sequence| {
            let nothing = Attributes::default();
            push_message(bytes, kind, NLM_F_REQUEST, sequence, 0, NFNL_SUBSYS_NFTABLES, &nothing);
        };
        frame(&mut bytes, NFNL_MSG_BATCH_BEGIN, sequence);
        for (message, flags, attributes) in &self.changes {
            sequence = sequence.wrapping_add(1);
            push_message(&mut bytes, message.kind(), *flags, sequence, self.family as u8, 0, attributes);
        }
        frame(&mut bytes, NFNL_MSG_BATCH_END, sequence.wrapping_add(1));
        bytes
    }
}

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
        let count = u32::try_from(batch.changes.len()).map_err(io::Error::other)?;
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
        let mut bytes = Vec::new();
        let flags = NLM_F_REQUEST | NLM_F_DUMP;
        push_message(&mut bytes, message.kind(), flags, first, family as u8, 0, attributes);
        session.send(&bytes).await?;
        let mut found = Vec::new();
        loop {
            for message in session.receive(first).await? {
                if message.kind == NLMSG_DONE {
                    return Ok(found);
                }
                if let Some(result) = message.acknowledgement() {
                    result?;
                }
                found.extend(message.payload.get(FAMILY_HEADER_BYTES..).and_then(&read));
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
        messages.retain(|message| message.sequence.wrapping_sub(first) < u32::MAX / 2);
        Ok(messages)
    }
}

/// The zero-terminated text in the first attribute of a kind.
pub(crate) fn text_attribute(mut attributes: &[u8], wanted: u16) -> Option<String> {
    while let Some((length, rest)) = read_u16(attributes) {
        let (kind, _) = read_u16(rest)?;
        let value = attributes.get(4..usize::from(length))?;
        if kind == wanted {
            let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
            return std::str::from_utf8(text).ok().map(str::to_owned);
        }
        attributes = attributes.get(usize::from(length).next_multiple_of(4)..)?;
    }
    None
}

impl NftMessage {
    const fn kind(self) -> u16 {
        NFNL_SUBSYS_NFTABLES << 8 | self as u16
    }
}

/// A message as it came, without its netlink header.
struct Message {
    kind: u16,
    sequence: u32,
    payload: Vec<u8>,
}

impl Message {
    /// What the kernel answered to a change, if this is such an answer.
    fn acknowledgement(&self) -> Option<io::Result<()>> {
        if self.kind != NLMSG_ERROR {
            return None;
        }
        let number = self.payload.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes))?;
        Some(if number == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-number)) })
    }
}

/// Adds a message with its netlink header and struct nfgenmsg.
fn push_message(
    bytes: &mut Vec<u8>,
    kind: u16,
    flags: u16,
    sequence: u32,
    family: u8,
    resource: u16,
    attributes: &Attributes,
) {
    let length = NETLINK_HEADER_BYTES + FAMILY_HEADER_BYTES + attributes.0.len();
    bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend([family, 0]);
    bytes.extend(resource.to_be_bytes());
    bytes.extend(&attributes.0);
}

fn messages(mut rest: &[u8]) -> Vec<Message> {
    let mut messages = Vec::new();
    while let Some(length) = rest.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes)) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (Some((kind, _)), Some(sequence), Some(payload)) = (
            rest.get(4..).and_then(read_u16),
            rest.get(8..).and_then(<[u8]>::first_chunk).map(|bytes| u32::from_ne_bytes(*bytes)),
            rest.get(NETLINK_HEADER_BYTES..length),
        ) else {
            break;
        };
        messages.push(Message { kind, sequence, payload: payload.to_vec() });
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    messages
}

fn read_u16(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u16::from_ne_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_read_back() {
        let attributes = Attributes::default().number(2, 7).text(3, "antrea");
        assert_eq!(attributes.0.len(), 8 + 12);
        assert_eq!(text_attribute(&attributes.0, 3).as_deref(), Some("antrea"));
        assert_eq!(text_attribute(&attributes.0, 4), None);
    }

    #[test]
    fn malformed_attributes_end_the_search() {
        for bytes in [&[0_u8][..], &[200, 0, 3, 0, 1], &[3, 0, 3, 0]] {
            assert_eq!(text_attribute(bytes, 3), None);
        }
    }
}
