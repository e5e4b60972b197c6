//! Reads an Ethernet frame with a packet in it, as far as the first bytes of the transport protocol.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why a frame could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Its end is missing.
    #[error("the frame ends within its {0} header")]
    Cut(&'static str),
    /// It is of another protocol.
    #[error("the frame has ethertype {0:#06x}, which is neither IPv4 nor IPv6")]
    NotIp(u16),
    /// A header contradicts itself.
    #[error("the frame's {0} header is malformed")]
    Malformed(&'static str),
    /// It has no transport header.
    #[error("the packet is a later fragment")]
    Fragment,
}

/// A frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) destination_mac: [u8; 6],
    pub(crate) source_mac: [u8; 6],
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    /// The number of the transport protocol.
    pub(crate) protocol: u8,
    /// From the IP header on, without what pads the frame.
    pub(crate) packet: &'a [u8],
    /// From the transport header on.
    pub(crate) payload: &'a [u8],
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// IPv6 extension headers that may stand before a transport header (RFC 8200 §4).
mod extension {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const DESTINATION: u8 = 60;
}

impl<'a> Frame<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        let cut = Unreadable::Cut("Ethernet");
        let (destination_mac, rest) = bytes.split_first_chunk::<6>().ok_or(cut)?;
        let (source_mac, rest) = rest.split_first_chunk::<6>().ok_or(cut)?;
        let (ethertype, packet) = rest.split_first_chunk::<2>().ok_or(cut)?;
        let packet = match u16::from_be_bytes(*ethertype) {
            IPV4 => ipv4(packet)?,
            IPV6 => ipv6(packet)?,
            other => return Err(Unreadable::NotIp(other)),
        };
        Ok(Self { destination_mac: *destination_mac, source_mac: *source_mac, ..packet })
    }
}

/// RFC 791 §3.1.
fn ipv4(bytes: &[u8]) -> Result<Frame<'_>, Unreadable> {
    let (header, _) = bytes.split_first_chunk::<20>().ok_or(Unreadable::Cut("IPv4"))?;
    let [first, _, l1, l2, _, _, f1, f2, _, protocol, _, _, s1, s2, s3, s4, d1, d2, d3, d4] = *header;
    let (version, header_length) = (first >> 4, usize::from(first & 0xf) * 4);
    let length = usize::from(u16::from_be_bytes([l1, l2]));
    if version != 4 || header_length < header.len() || length < header_length {
        return Err(Unreadable::Malformed("IPv4"));
    }
    if u16::from_be_bytes([f1, f2]) & 0x1fff != 0 {
        return Err(Unreadable::Fragment);
    }
    let packet = bytes.get(..length).unwrap_or(bytes);
    let payload = packet.get(header_length..).ok_or(Unreadable::Cut("IPv4"))?;
    let source = Ipv4Addr::new(s1, s2, s3, s4).into();
    let destination = Ipv4Addr::new(d1, d2, d3, d4).into();
    Ok(Frame { destination_mac: [0; 6], source_mac: [0; 6], source, destination, protocol, packet, payload })
}

/// RFC 8200 §3.
fn ipv6(bytes: &[u8]) -> Result<Frame<'_>, Unreadable> {
    let cut = Unreadable::Cut("IPv6");
    let (header, rest) = bytes.split_first_chunk::<8>().ok_or(cut)?;
    let (source, rest) = rest.split_first_chunk::<16>().ok_or(cut)?;
    let (destination, payload) = rest.split_first_chunk::<16>().ok_or(cut)?;
    let [first, _, _, _, l1, l2, next, _] = *header;
    if first >> 4 != 6 {
        return Err(Unreadable::Malformed("IPv6"));
    }
    let length = usize::from(u16::from_be_bytes([l1, l2]));
    let packet = bytes.get(..bytes.len() - payload.len() + length).unwrap_or(bytes);
    let (protocol, payload) = transport(next, payload.get(..length).unwrap_or(payload))?;
    let (source, destination) = (Ipv6Addr::from(*source).into(), Ipv6Addr::from(*destination).into());
    Ok(Frame { destination_mac: [0; 6], source_mac: [0; 6], source, destination, protocol, packet, payload })
}

/// Behind the extension headers, each of which is eight bytes long at least.
fn transport(mut next: u8, mut rest: &[u8]) -> Result<(u8, &[u8]), Unreadable> {
    loop {
        let length = match next {
            extension::HOP_BY_HOP | extension::ROUTING | extension::DESTINATION => None,
            extension::FRAGMENT => Some(8),
            protocol => return Ok((protocol, rest)),
        };
        let cut = Unreadable::Cut("IPv6 extension");
        let [following, words, o1, o2] = *rest.first_chunk::<4>().ok_or(cut)?;
        if next == extension::FRAGMENT && u16::from_be_bytes([o1, o2]) & 0xfff8 != 0 {
            return Err(Unreadable::Fragment);
        }
        let length = length.unwrap_or_else(|| (usize::from(words) + 1) * 8);
        rest = rest.get(length..).ok_or(cut)?;
        next = following;
    }
}
