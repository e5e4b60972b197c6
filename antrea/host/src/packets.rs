//! The frames that announce an address: a gratuitous ARP request (RFC 5227 §3) and an unsolicited neighbour
//! advertisement (RFC 4861 §7.2.6).

use std::net::{Ipv4Addr, Ipv6Addr};

use antrea_types::MacAddr;

const BROADCAST: MacAddr = MacAddr([0xff; 6]);
const ETHERTYPE_ARP: u16 = 0x0806;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ICMPV6: u8 = 58;
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
/// The address replaces what a cache holds (RFC 4861 §4.4).
const OVERRIDE: u8 = 0x20;
const TARGET_LINK_LAYER_ADDRESS: u8 = 2;
/// Checksum offset in an ICMPv6 message.
const CHECKSUM_AT: usize = 2;

/// A broadcast that tells all neighbours who has an IPv4 address.
pub(crate) fn gratuitous_arp(mac: MacAddr, ip: Ipv4Addr) -> Vec<u8> {
    let mut frame = ethernet(BROADCAST, mac, ETHERTYPE_ARP);
    // Ethernet, IPv4, lengths of their addresses, request.
    frame.extend([0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend(mac.octets());
    frame.extend(ip.octets());
    frame.extend([0; 6]);
    frame.extend(ip.octets());
    frame
}

/// A multicast that tells all IPv6 neighbours who has an address.
pub(crate) fn unsolicited_advertisement(mac: MacAddr, ip: Ipv6Addr) -> Vec<u8> {
    let all_nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let mut message = vec![NEIGHBOUR_ADVERTISEMENT, 0, 0, 0, OVERRIDE, 0, 0, 0];
    message.extend(ip.octets());
    message.extend([TARGET_LINK_LAYER_ADDRESS, 1]);
    message.extend(mac.octets());
    let checksum = icmpv6_checksum(ip, all_nodes, &message).to_be_bytes();
    for (at, byte) in message.iter_mut().skip(CHECKSUM_AT).zip(checksum) {
        *at = byte;
    }
    // RFC 2464 §7.
    let mut frame = ethernet(MacAddr([0x33, 0x33, 0, 0, 0, 1]), mac, ETHERTYPE_IPV6);
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
    frame.extend([0x60, 0, 0, 0]);
    frame.extend(length.to_be_bytes());
    // Receivers drop advertisements that passed a router.
    frame.extend([ICMPV6, 255]);
    frame.extend(ip.octets());
    frame.extend(all_nodes.octets());
    frame.extend(message);
    frame
}

fn ethernet(destination: MacAddr, source: MacAddr, ethertype: u16) -> Vec<u8> {
    [&destination.octets()[..], &source.octets(), &ethertype.to_be_bytes()].concat()
}

/// RFC 8200 §8.1, over the pseudo-header and a message of even length.
fn icmpv6_checksum(source: Ipv6Addr, destination: Ipv6Addr, message: &[u8]) -> u16 {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes();
    let pseudo_header = [&source.octets()[..], &destination.octets(), &length, &[0, 0, 0, ICMPV6]].concat();
    let words = pseudo_header.chunks(2).chain(message.chunks(2));
    let sum: u64 = words.map(|word| word.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))).sum();
    let mut folded = sum;
    while folded > 0xffff {
        folded = (folded & 0xffff) + (folded >> 16);
    }
    !u16::try_from(folded).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x0a]);

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn gratuitous_arp_asks_for_its_own_address() {
        assert_eq!(
            hex(&gratuitous_arp(MAC, Ipv4Addr::new(10, 11, 0, 3))),
            "ffffffffffff02000000000a080600010800060400010200000000\
             0a0a0b00030000000000000a0b0003"
                .replace(' ', "")
        );
    }

    #[test]
    fn an_advertisement_overrides_and_sums_to_zero() {
        let ip: Ipv6Addr = "fd00:11::3".parse().unwrap();
        let frame = unsolicited_advertisement(MAC, ip);
        assert_eq!(frame.len(), 14 + 40 + 32);
        let all_nodes = "ff02::1".parse().unwrap();
        // A message that holds its checksum sums up to all ones, of which the complement is zero.
        assert_eq!(icmpv6_checksum(ip, all_nodes, &frame[54..]), 0);
        assert_eq!(hex(&frame[54..56]), "8800");
        assert_eq!(frame[58], 0x20);
    }
}
