//! Writes IP headers, and the frame around them.

use std::net::IpAddr;

use crate::checksum::Checksum;
use crate::frame::Frame;

/// How far an answer may go: what hosts send by default (RFC 1700).
const HOP_LIMIT: u8 = 64;

/// A frame back to the sender of `request`, from whom it was sent to.
pub(crate) fn answer(request: &Frame<'_>, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(54 + payload.len());
    out.extend(request.source_mac);
    out.extend(request.destination_mac);
    match (request.destination, request.source) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            out.extend([0x08, 0x00]);
            out.extend(ipv4_header(source.octets(), destination.octets(), protocol, payload.len()));
        }
        (source, destination) => {
            out.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            out.extend(length(payload.len()));
            out.extend([protocol, HOP_LIMIT]);
            for address in [source, destination] {
                match address {
                    IpAddr::V4(address) => out.extend(address.to_ipv6_mapped().octets()),
                    IpAddr::V6(address) => out.extend(address.octets()),
                }
            }
        }
    }
    out.extend(payload);
    out
}

/// Without options, not to be fragmented.
pub(crate) fn ipv4_header(source: [u8; 4], destination: [u8; 4], protocol: u8, payload: usize) -> [u8; 20] {
    let [l1, l2] = length(payload + 20);
    let [s1, s2, s3, s4] = source;
    let [d1, d2, d3, d4] = destination;
    let before = [0x45, 0, l1, l2, 0, 0, 0x40, 0, HOP_LIMIT, protocol];
    let sum = Checksum::default().bytes(&before).bytes(&source).bytes(&destination);
    let [c1, c2] = sum.finish();
    let [b0, b1, b2, b3, b4, b5, b6, b7, b8, b9] = before;
    [b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c1, c2, s1, s2, s3, s4, d1, d2, d3, d4]
}

/// Answers are short.
fn length(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes()
}
