//! Ethernet addresses.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The destination of every packet that leaves a Node through a tunnel, and what peers' gateways answer ARP with.
pub const GLOBAL_VIRTUAL_MAC: MacAddr = MacAddr([0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff]);

/// An Ethernet (MAC-48) address, written `aa:bb:cc:dd:ee:ff`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MacAddr(pub [u8; 6]);

/// Text that is not six colon-separated pairs of hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a MAC address: six pairs of hexadecimal digits separated by colons are wanted")]
pub struct InvalidMacAddr(String);

impl MacAddr {
    /// The six octets in transmission order.
    pub const fn octets(self) -> [u8; 6] {
        self.0
    }

    /// The address made of random octets, locally administered and unicast (IEEE 802, I/G = 0, U/L = 1).
    pub const fn local_unicast(mut random: [u8; 6]) -> Self {
        random[0] = (random[0] & 0xfc) | 0x02;
        Self(random)
    }

    /// The link-local address that a kernel gives the interface with this address (RFC 4291 §2.5.6, appendix A).
    pub fn link_local(self) -> Ipv6Addr {
        let [a, b, c, d, e, g] = self.0;
        let [first, second] = [[a ^ 0x02, b, c, 0xff], [0xfe, d, e, g]].map(u32::from_be_bytes);
        Ipv6Addr::from_bits(0xfe80 << 112 | u128::from(first) << 32 | u128::from(second))
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for MacAddr {
    type Err = InvalidMacAddr;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidMacAddr(text.to_owned());
        let mut octets = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts.next().filter(|part| part.len() == 2).ok_or_else(invalid)?;
            // `from_str_radix` alone would take a sign for a digit.
            let is_hex = part.bytes().all(|byte| byte.is_ascii_hexdigit());
            *octet = u8::from_str_radix(part, 16).ok().filter(|_| is_hex).ok_or_else(invalid)?;
        }
        if parts.next().is_some() { Err(invalid()) } else { Ok(Self(octets)) }
    }
}

impl TryFrom<String> for MacAddr {
    type Error = InvalidMacAddr;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<MacAddr> for String {
    fn from(mac: MacAddr) -> Self {
        mac.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_address_is_read_and_written_alike() {
        for text in ["aa:bb:cc:dd:ee:ff", "00:00:00:00:00:01"] {
            assert_eq!(text.parse::<MacAddr>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "aa:bb:cc:dd:ee",
            "aa:bb:cc:dd:ee:ff:00",
            "aabbccddeeff",
            "aa:bb:cc:dd:ee:g0",
            "aa:bb:cc:dd:ee:+f",
            "a:bb:cc:dd:ee:ff",
        ] {
            assert!(text.parse::<MacAddr>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_link_local_address_says_the_mac() {
        for (mac, address) in [
            ("34:56:78:9a:bc:de", "fe80::3656:78ff:fe9a:bcde"),
            ("0a:00:00:00:00:01", "fe80::800:ff:fe00:1"),
            ("02:ff:ff:ff:ff:ff", "fe80::ff:ffff:feff:ffff"),
        ] {
            assert_eq!(mac.parse::<MacAddr>().unwrap().link_local().to_string(), address);
        }
    }

    #[test]
    fn random_octets_become_a_local_unicast_address() {
        assert_eq!(MacAddr::local_unicast([0xff; 6]).to_string(), "fe:ff:ff:ff:ff:ff");
    }
}
