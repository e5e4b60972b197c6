//! The segment that resets a connection nobody knows (RFC 9293 §3.10.7.1).

use crate::checksum::Checksum;
use crate::frame::{Frame, Unreadable};
use crate::ip;
use crate::refusal::{Unanswered, protocol};

const FIN: u8 = 1;
const SYN: u8 = 1 << 1;
const RST: u8 = 1 << 2;
const ACK: u8 = 1 << 4;

/// The words of a header without options, and its length in words as it stands in the header.
const HEADER_WORDS: u8 = 5 << 4;

/// What the answer is made of.
struct Segment {
    ports: [u8; 4],
    sequence: u32,
    acknowledgement: u32,
    flags: u8,
    /// How much of the sequence it takes: its data, and one each for SYN and FIN.
    length: u32,
}

pub(crate) fn answer(frame: &Frame<'_>) -> Result<Vec<u8>, Unanswered> {
    let segment = read(frame.payload)?;
    if segment.flags & RST != 0 {
        return Err(Unanswered::Reset);
    }
    let (sequence, acknowledgement, flags) = match segment.flags & ACK {
        0 => (0, segment.sequence.wrapping_add(segment.length), RST | ACK),
        _ => (segment.acknowledgement, 0, RST),
    };
    let [s1, s2, d1, d2] = segment.ports;
    let mut header = vec![d1, d2, s1, s2];
    header.extend(sequence.to_be_bytes());
    header.extend(acknowledgement.to_be_bytes());
    header.extend([HEADER_WORDS, flags, 0, 0]);
    let sum = Checksum::default().pseudo_header(frame.destination, frame.source, protocol::TCP, 20);
    let checksum = sum.bytes(&header).finish();
    header.extend(checksum);
    // There is no urgent data.
    header.extend([0, 0]);
    Ok(ip::answer(frame, protocol::TCP, &header))
}

fn read(bytes: &[u8]) -> Result<Segment, Unreadable> {
    let (ports, rest) = bytes.split_first_chunk::<4>().ok_or(Unreadable::Cut("TCP"))?;
    let (sequence, rest) = rest.split_first_chunk::<4>().ok_or(Unreadable::Cut("TCP"))?;
    let (acknowledgement, rest) = rest.split_first_chunk::<4>().ok_or(Unreadable::Cut("TCP"))?;
    let [words, flags] = *rest.first_chunk::<2>().ok_or(Unreadable::Cut("TCP"))?;
    let header = usize::from(words >> 4) * 4;
    let data =
        bytes.len().checked_sub(header).filter(|_| header >= 20).ok_or(Unreadable::Malformed("TCP"))?;
    let extra = u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
    Ok(Segment {
        ports: *ports,
        sequence: u32::from_be_bytes(*sequence),
        acknowledgement: u32::from_be_bytes(*acknowledgement),
        flags,
        length: u32::try_from(data).unwrap_or(u32::MAX).wrapping_add(extra),
    })
}
