//! The kernel's answers to one request.

use std::io;

use netlink_packet_core::{NetlinkBuffer, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;

/// struct nlmsghdr of linux/netlink.h.
const HEADER_BYTES: usize = 16;

/// What has come so far.
#[derive(Debug)]
pub(super) struct Answers {
    sequence: u32,
    /// The objects that were told.
    pub(super) objects: Vec<RouteNetlinkMessage>,
}

/// Whether there is more to come.
#[derive(Debug)]
pub(super) enum Progress {
    /// There is.
    More,
    /// There is not: all is told, or done.
    Done,
    /// The kernel does not do it.
    Refused(io::Error),
}

impl Answers {
    /// To the request of that number.
    pub(super) const fn to(sequence: u32) -> Self {
        Self { sequence, objects: Vec::new() }
    }

    /// Reads what one receive brought. Answers to other requests, of which somebody stopped reading, are passed over,
    /// and so are objects of kinds or with attributes that cannot be read: newer kernels have more of them.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> Progress {
        while let Ok(header) = NetlinkBuffer::new_checked(bytes) {
            let length = header.length() as usize;
            let ours = header.sequence_number() == self.sequence;
            if ours && let Ok(message) = NetlinkMessage::deserialize(bytes) {
                match message.payload {
                    NetlinkPayload::InnerMessage(object) => self.objects.push(object),
                    NetlinkPayload::Done(_) => return Progress::Done,
                    NetlinkPayload::Error(error) if error.code.is_some() => {
                        return Progress::Refused(error.to_io());
                    }
                    // An error without a number is an acknowledgement.
                    NetlinkPayload::Error(_) => return Progress::Done,
                    _ => {}
                }
            }
            let next = length.max(HEADER_BYTES).next_multiple_of(4);
            bytes = bytes.get(next..).unwrap_or_default();
        }
        Progress::More
    }
}
