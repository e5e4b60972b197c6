//! Messages of nf_tables over netlink as bytes (linux/netfilter/nfnetlink.h, nf_tables.h): batches and dumps.

use std::io;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};

use super::attributes::{Attributes, read_u16};

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NFNL_MSG_BATCH_BEGIN: u16 = 0x10;
const NFNL_MSG_BATCH_END: u16 = 0x11;
const NFNL_SUBSYS_NFTABLES: u16 = 10;
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
    NewRule = 6,
    GetRule = 7,
    DeleteRule = 8,
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

    /// How many changes are answered.
    pub(super) fn len(&self) -> usize {
        self.changes.len()
    }

    /// The messages with their frame, counted up from `sequence`.
    pub(super) fn messages(&self, mut sequence: u32) -> Vec<u8> {
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

impl NftMessage {
    const fn kind(self) -> u16 {
        NFNL_SUBSYS_NFTABLES << 8 | self as u16
    }
}

/// A message as it came, without its netlink header.
pub(super) struct Message {
    kind: u16,
    sequence: u32,
    payload: Vec<u8>,
}

impl Message {
    /// Whether nothing more comes of what was asked for.
    pub(super) fn ends_dump(&self) -> bool {
        self.kind == NLMSG_DONE
    }

    /// The attributes of an object.
    pub(super) fn attributes(&self) -> Option<&[u8]> {
        self.payload.get(FAMILY_HEADER_BYTES..)
    }

    /// Whether it answers a request with number `first`, or one after it.
    pub(super) fn is_since(&self, first: u32) -> bool {
        self.sequence.wrapping_sub(first) < u32::MAX / 2
    }

    /// What the kernel answered to a change, if this is such an answer.
    pub(super) fn acknowledgement(&self) -> Option<io::Result<()>> {
        if self.kind != NLMSG_ERROR {
            return None;
        }
        let number = self.payload.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes))?;
        Some(if number == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-number)) })
    }
}

/// A request for all objects of a kind.
pub(super) fn dump_request(
    family: NftFamily,
    message: NftMessage,
    attributes: &Attributes,
    sequence: u32,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let flags = NLM_F_REQUEST | NLM_F_DUMP;
    push_message(&mut bytes, message.kind(), flags, sequence, family as u8, 0, attributes);
    bytes
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
    let length = NETLINK_HEADER_BYTES + FAMILY_HEADER_BYTES + attributes.as_bytes().len();
    bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend([family, 0]);
    bytes.extend(resource.to_be_bytes());
    bytes.extend(attributes.as_bytes());
}

pub(super) fn messages(mut rest: &[u8]) -> Vec<Message> {
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
