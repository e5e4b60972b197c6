//! The checksum of the Internet protocols (RFC 1071).

use std::net::IpAddr;

/// A sum of 16-bit words that is not folded yet. A packet has fewer of them than it could overflow by.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Checksum(u32);

impl Checksum {
    /// And these bytes; an odd last one counts as the upper half of a word.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        let word = |pair: &[u8]| match pair {
            [high, low] => u32::from(u16::from_be_bytes([*high, *low])),
            [high] => u32::from(*high) << 8,
            _ => 0,
        };
        Self(bytes.chunks(2).fold(self.0, |sum, pair| sum.wrapping_add(word(pair))))
    }

    /// And the pseudo header of TCP, UDP and ICMPv6 (RFC 9293 §3.1, RFC 8200 §8.1).
    pub(crate) fn pseudo_header(
        self,
        source: IpAddr,
        destination: IpAddr,
        protocol: u8,
        length: usize,
    ) -> Self {
        let sum = self.address(source).address(destination);
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        sum.bytes(&length.to_be_bytes()).bytes(&[0, protocol])
    }

    fn address(self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => self.bytes(&address.octets()),
            IpAddr::V6(address) => self.bytes(&address.octets()),
        }
    }

    /// What stands in the header.
    pub(crate) fn finish(self) -> [u8; 2] {
        let folded = (self.0 >> 16) + (self.0 & 0xffff);
        let folded = (folded >> 16) + (folded & 0xffff);
        // Folded twice it has 16 bits.
        let [_, _, high, low] = (!folded).to_be_bytes();
        [high, low]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_comes_out() {
        // RFC 1071 §3.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Checksum::default().bytes(&bytes).finish(), (!0xddf2_u16).to_be_bytes());
    }

    #[test]
    fn bytes_with_their_checksum_sum_up_to_nothing() {
        let bytes = [0xff, 0xff, 0xff, 0xfe, 0x81];
        let [high, low] = Checksum::default().bytes(&bytes).finish();
        let mut all = bytes.to_vec();
        all.extend([0, high, low]);
        assert_eq!(Checksum::default().bytes(&all).finish(), [0, 0]);
    }
}
