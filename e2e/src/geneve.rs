//! Datagrams as Nodes pack them for each other (Geneve, RFC 8926): for who forges some.

use std::net::IpAddr;

use antrea_types::GLOBAL_VIRTUAL_MAC;
use anyhow::{Context, Result, bail};

/// The port that Geneve goes to.
pub const PORT: u16 = 6081;

/// Without options and virtual network, around Ethernet.
const HEADER: [u8; 8] = [0, 0, 0x65, 0x58, 0, 0, 0, 0];

/// The MAC address of the sending Node's gateway: any will do.
const GATEWAY: [u8; 6] = [0x0a, 0, 0, 0, 0, 1];

/// The protocol number of UDP.
const UDP: u8 = 17;

/// What a Node sends to the other one's end of the tunnel for a datagram between two Pods, from and to `port`.
///
/// # Errors
/// The addresses are of two families, or the data is too long.
pub fn packed([from, to]: [IpAddr; 2], port: u16, data: &[u8]) -> Result<Vec<u8>> {
    let datagram = datagram([from, to], port, data)?;
    let length = u16::try_from(datagram.len()).context("too long")?;
    let (ethertype, header) = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let head = |checksum: u16| {
                let words = [0x4500, length + 20, 0, 0, 0x4011, checksum].map(u16::to_be_bytes).concat();
                [&words[..], &from.octets(), &to.octets()].concat()
            };
            ([0x08, 0x00], head(checksum(&head(0))))
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let [high, low] = length.to_be_bytes();
            let head = [0x60, 0, 0, 0, high, low, UDP, 64];
            ([0x86, 0xdd], [&head[..], &from.octets(), &to.octets()].concat())
        }
        _ => bail!("{from} and {to} are of two families"),
    };
    let macs = [GLOBAL_VIRTUAL_MAC.octets(), GATEWAY].concat();
    Ok([&HEADER[..], &macs, &ethertype, &header, &datagram].concat())
}

fn datagram(addresses: [IpAddr; 2], port: u16, data: &[u8]) -> Result<Vec<u8>> {
    let length = u16::try_from(data.len() + 8).context("too long")?;
    let with = |checksum: u16| {
        let words = [port, port, length, checksum].map(u16::to_be_bytes).concat();
        [&words, data].concat()
    };
    let octets = |address| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let [high, low] = length.to_be_bytes();
    let summed = [addresses.map(octets).concat(), vec![0, UDP, high, low], with(0)].concat();
    Ok(with(checksum(&summed)))
}

/// RFC 1071. It is never 0, which UDP would take for none.
fn checksum(bytes: &[u8]) -> u16 {
    let word = |word: &[u8]| {
        let [high, low] = [0, 1].map(|index| word.get(index).copied().unwrap_or_default());
        u32::from(u16::from_be_bytes([high, low]))
    };
    let sum: u32 = bytes.chunks(2).map(word).sum();
    let [_, _, high, low] = (sum % 0xffff).to_be_bytes();
    !u16::from_be_bytes([high, low])
}
