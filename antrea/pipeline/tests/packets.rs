//! Frames with correct checksums, which connection tracking insists on.

use std::net::IpAddr;

use antrea_types::{MacAddr, OfPort, Protocol};
use ipnet::IpNet;

use crate::gateway_passages::{BETWEEN_CLUSTERS, REMOTE_GATEWAY};
use crate::upstream_services::FIRST;

pub(crate) const SYN: u8 = 2;
pub(crate) const ACK: u8 = 16;

/// A packet without data.
#[derive(Clone, Copy)]
pub(crate) struct Packet {
    pub(crate) in_port: OfPort,
    /// Source and destination.
    pub(crate) macs: [&'static str; 2],
    pub(crate) addresses: [IpAddr; 2],
    pub(crate) ports: [u16; 2],
    pub(crate) protocol: Protocol,
    /// Flags, sequence and acknowledgement of a TCP segment.
    pub(crate) tcp: (u8, u32, u32),
}

impl Packet {
    /// Whose end of the tunnel such a packet comes from, in [`crate::cluster`], [`crate::clusters`] and
    /// [`crate::upstream_services`]; none by another port.
    pub(crate) fn far_end(&self) -> Option<IpAddr> {
        let [source, _] = self.addresses;
        let within = |net: &str| net.parse::<IpNet>().unwrap().contains(&source);
        let far_end = match self.macs {
            _ if self.in_port != OfPort::TUNNEL => return None,
            _ if source.is_ipv6() => "fd00:18::2".parse().unwrap(),
            _ if within("10.11.0.0/16") => FIRST.peer_ip.parse().unwrap(),
            _ if within("10.10.2.0/24") => "172.18.0.3".parse().unwrap(),
            [_, BETWEEN_CLUSTERS] if within("172.18.0.0/16") => source,
            [_, BETWEEN_CLUSTERS] if !within("10.10.0.0/16") => REMOTE_GATEWAY.parse().unwrap(),
            _ => "172.18.0.2".parse().unwrap(),
        };
        Some(far_end)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let [source, destination] = self.addresses;
        let [source_mac, destination_mac] = self.macs.map(|mac| mac.parse::<MacAddr>().unwrap().octets());
        let payload = self.payload();
        let length = u16::try_from(payload.len()).unwrap();
        let mut frame = [destination_mac, source_mac].concat();
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let [high, low] = (length + 20).to_be_bytes();
                let mut header = vec![0x45, 0, high, low, 0, 0, 0x40, 0, 64, self.protocol.number(), 0, 0];
                header.extend([source.octets(), destination.octets()].concat());
                let checksum = checksum(&header);
                header[10..12].copy_from_slice(&checksum);
                frame.extend([[0x08, 0x00].to_vec(), header].concat());
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let [high, low] = length.to_be_bytes();
                frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, high, low, self.protocol.number(), 64]);
                frame.extend([source.octets(), destination.octets()].concat());
            }
            _ => panic!("two families"),
        }
        frame.extend(payload);
        frame
    }

    fn payload(&self) -> Vec<u8> {
        let mut header: Vec<u8> = self.ports.iter().flat_map(|port| port.to_be_bytes()).collect();
        let at = match self.protocol {
            Protocol::Udp => {
                header.extend([0, 8, 0, 0]);
                6
            }
            _ => {
                let (flags, sequence, acknowledgement) = self.tcp;
                header.extend([sequence.to_be_bytes(), acknowledgement.to_be_bytes()].concat());
                header.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
                16
            }
        };
        let octets = |address: IpAddr| match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        let mut summed = self.addresses.map(octets).concat();
        summed.extend([0, self.protocol.number(), 0, u8::try_from(header.len()).unwrap()]);
        summed.extend(&header);
        header[at..at + 2].copy_from_slice(&checksum(&summed));
        header
    }
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let sum: u32 = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let folded = (sum >> 16) + (sum & 0xffff);
    let [_, _, high, low] = (!(folded + (folded >> 16))).to_be_bytes();
    [high, low]
}
