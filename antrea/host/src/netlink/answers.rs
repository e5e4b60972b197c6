//! The kernel's answers to one request.

use std::io;

use netlink_packet_core::{NLM_F_DUMP_INTR, NetlinkBuffer, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;

/// struct nlmsghdr of linux/netlink.h.
const HEADER_BYTES: usize = 16;

/// What has come so far.
#[derive(Debug)]
pub(super) struct Answers {
    sequence: u32,
    /// The objects that were told.
    pub(super) objects: Vec<RouteNetlinkMessage>,
    dump: Dump,
}

/// Whether the list has all objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dump {
    /// It has.
    Complete,
    /// Some came or went between two parts of the list, and others may have been skipped for it (`NLM_F_DUMP_INTR`).
    Interrupted,
}

/// Whether there is more to come.
#[derive(Debug)]
pub(super) enum Progress {
    /// There is.
    More,
    /// There is not: all is told, or done.
    Done(Dump),
    /// The kernel does not do it.
    Refused(io::Error),
}

impl Answers {
    /// To the request of that number.
    pub(super) const fn to(sequence: u32) -> Self {
        Self { sequence, objects: Vec::new(), dump: Dump::Complete }
    }

    /// Reads what one receive brought. Answers to other requests, of which somebody stopped reading, are passed over,
    /// and so are objects of kinds or with attributes that cannot be read: newer kernels have more of them.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> Progress {
        while let Ok(header) = NetlinkBuffer::new_checked(bytes) {
            let length = header.length() as usize;
            let ours = header.sequence_number() == self.sequence;
            if ours && header.flags() & NLM_F_DUMP_INTR != 0 {
                self.dump = Dump::Interrupted;
            }
            if ours && let Ok(message) = NetlinkMessage::deserialize(bytes) {
                match message.payload {
                    NetlinkPayload::InnerMessage(object) => self.objects.push(object),
                    NetlinkPayload::Done(_) => return Progress::Done(self.dump),
                    NetlinkPayload::Error(error) if error.code.is_some() => {
                        return Progress::Refused(error.to_io());
                    }
                    // An error without a number is an acknowledgement.
                    NetlinkPayload::Error(_) => return Progress::Done(self.dump),
                    _ => {}
                }
            }
            let next = length.max(HEADER_BYTES).next_multiple_of(4);
            bytes = bytes.get(next..).unwrap_or_default();
        }
        Progress::More
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MULTI: u16 = 0x2;
    const INTERRUPTED: u16 = 0x10;
    const LINK: u16 = 16;
    const DONE: u16 = 3;

    /// struct nlmsghdr and a payload of zeros, which is a struct ifinfomsg or the number of an error.
    fn message(kind: u16, flags: u16, sequence: u32) -> Vec<u8> {
        let mut bytes = 32_u32.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((flags | MULTI).to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.resize(32, 0);
        bytes
    }

    /// What is told at the end of a list of links whose messages have those flags.
    fn check(links: &[u16], done: u16, expected: Dump) {
        let mut answers = Answers::to(7);
        for flags in links {
            assert!(matches!(answers.read(&message(LINK, *flags, 7)), Progress::More));
        }
        let Progress::Done(whole) = answers.read(&message(DONE, done, 7)) else { panic!("not done") };
        assert_eq!((answers.objects.len(), whole), (links.len(), expected), "{links:?} {done}");
    }

    #[test]
    fn a_list_is_whole_unless_the_kernel_says_that_it_was_interrupted() {
        check(&[0, 0], 0, Dump::Complete);
        check(&[0, INTERRUPTED], 0, Dump::Interrupted);
        check(&[INTERRUPTED, 0], 0, Dump::Interrupted);
        check(&[0, 0], INTERRUPTED, Dump::Interrupted);
    }

    #[test]
    fn interrupted_answers_to_others_are_passed_over() {
        let mut answers = Answers::to(7);
        let bytes = [message(LINK, INTERRUPTED, 6), message(DONE, 0, 7)].concat();
        assert!(matches!(answers.read(&bytes), Progress::Done(Dump::Complete)));
    }
}
