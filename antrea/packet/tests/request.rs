//! Frames as clients send them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(crate) const CLIENT_MAC: [u8; 6] = [0x0a, 0, 0, 0, 0, 0x0a];
pub(crate) const GATEWAY_MAC: [u8; 6] = [0x0a, 0, 0, 0, 0, 0x01];

pub(crate) const V4: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 10, 0, 10)), IpAddr::V4(Ipv4Addr::new(10, 96, 0, 5))];
pub(crate) const V6: [IpAddr; 2] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x10, 0, 0, 0, 0, 0, 0xa)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x96, 0, 0, 0, 0, 0, 5)),
];

/// A frame from the first address to the second, padded as Ethernet asks.
pub(crate) fn frame([source, destination]: [IpAddr; 2], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = [GATEWAY_MAC, CLIENT_MAC].concat();
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let [high, low] = u16::try_from(20 + payload.len()).unwrap().to_be_bytes();
            frame.extend([0x08, 0x00, 0x45, 0, high, low, 0x12, 0x34, 0x40, 0, 64, protocol, 0, 0]);
            frame.extend(source.octets());
            frame.extend(destination.octets());
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let [high, low] = u16::try_from(payload.len()).unwrap().to_be_bytes();
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, high, low, protocol, 64]);
            frame.extend(source.octets());
            frame.extend(destination.octets());
        }
        _ => panic!("two families"),
    }
    frame.extend(payload);
    frame.resize(frame.len().max(60), 0);
    frame
}

/// A segment from port 40000 to port 80.
pub(crate) fn tcp(flags: u8, data: &[u8]) -> Vec<u8> {
    let mut segment =
        vec![0x9c, 0x40, 0, 80, 0, 0, 0, 100, 0, 0, 0, 200, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0];
    segment.extend(data);
    segment
}

/// A datagram from port 40000 to port 80, which SCTP's header begins like.
pub(crate) fn udp(data: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0x9c, 0x40, 0, 80, 0, u8::try_from(8 + data.len().min(200)).unwrap(), 0, 0];
    datagram.extend(data);
    datagram
}
