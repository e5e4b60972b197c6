//! "Port unreachable": ICMP (RFC 792) and ICMPv6 (RFC 4443 §3.1).

use std::net::IpAddr;

use crate::checksum::Checksum;
use crate::frame::Frame;
use crate::ip;
use crate::refusal::protocol;

/// The type and code of a family.
const V4: [u8; 2] = [3, 3];
const V6: [u8; 2] = [1, 4];

/// How much of the packet goes back: the answer stays below what every network carries (RFC 1812 §4.3.2.3, RFC 4443
/// §2.4), 576 and 1280 bytes, 28 and 48 of which are headers.
const V4_ROOM: usize = 548;
const V6_ROOM: usize = 1232;

pub(crate) fn answer(frame: &Frame<'_>) -> Vec<u8> {
    let (kind, room, protocol) = match frame.source {
        IpAddr::V4(_) => (V4, V4_ROOM, protocol::ICMP),
        IpAddr::V6(_) => (V6, V6_ROOM, protocol::ICMPV6),
    };
    let head = frame.packet.get(..room).unwrap_or(frame.packet);
    let sum = match frame.source {
        IpAddr::V4(_) => Checksum::default(),
        IpAddr::V6(_) => {
            Checksum::default().pseudo_header(frame.destination, frame.source, protocol, 8 + head.len())
        }
    };
    let checksum = sum.bytes(&kind).bytes(head).finish();
    let mut message = Vec::with_capacity(8 + head.len());
    message.extend(kind);
    message.extend(checksum);
    message.extend([0; 4]);
    message.extend(head);
    ip::answer(frame, protocol, &message)
}
