//! The addresses of a Pod CIDR in the order in which they are tried.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::{Allocation, IpamError};

/// The addresses that Pods can get from a Pod CIDR: all but the network's own, the gateway's (the first), and in IPv4
/// the broadcast address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    net: IpNet,
    /// The first address of the network as a number.
    network: u128,
    /// The last address that can be allocated, as a number.
    last: u128,
}

impl AddressRange {
    /// The range of a Pod CIDR; host bits are ignored.
    ///
    /// # Errors
    /// When the network has fewer than two usable addresses.
    pub fn of(pod_cidr: IpNet) -> Result<Self, IpamError> {
        let net = pod_cidr.trunc();
        if net.prefix_len() > net.max_prefix_len() - 2 {
            return Err(IpamError::TooSmall(net));
        }
        let end = to_number(net.broadcast());
        let last = if net.addr().is_ipv4() { end - 1 } else { end };
        Ok(Self { net, network: to_number(net.network()), last })
    }

    /// The network.
    pub const fn net(&self) -> IpNet {
        self.net
    }

    /// The address of the Node's gateway: the network's first.
    pub fn gateway(&self) -> IpAddr {
        self.address(self.network + 1)
    }

    /// Whether `address` can be one of a Pod.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.net.contains(&address) && (self.first()..=self.last).contains(&to_number(address))
    }

    /// `address` as it is given to a Pod; none when it is not of this range.
    pub fn allocation(&self, address: IpAddr) -> Option<Allocation> {
        let net = IpNet::new(address, self.net.prefix_len()).ok().filter(|_| self.contains(address))?;
        Some(Allocation { address: net, gateway: self.gateway() })
    }

    /// Every address once, beginning after the one that was given out last, so that an address just released is not
    /// given to the next Pod.
    pub fn candidates(&self, last_reserved: Option<IpAddr>) -> impl Iterator<Item = IpAddr> {
        let range = *self;
        let after = last_reserved.filter(|address| self.contains(*address)).map_or(self.last, to_number);
        (after..=self.last).skip(1).chain(self.first()..=after).map(move |number| range.address(number))
    }

    /// The first address after the gateway's.
    const fn first(&self) -> u128 {
        self.network + 2
    }

    fn address(&self, number: u128) -> IpAddr {
        match u32::try_from(number) {
            Ok(number) if self.net.addr().is_ipv4() => Ipv4Addr::from(number).into(),
            _ => Ipv6Addr::from(number).into(),
        }
    }
}

fn to_number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first candidates of a network after an address.
    fn candidates(net: &str, last_reserved: &str, count: usize) -> String {
        let range = AddressRange::of(net.parse().unwrap()).unwrap();
        let candidates = range.candidates(last_reserved.parse().ok()).take(count);
        candidates.map(|address| address.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn network_gateway_and_broadcast_addresses_are_left_out() {
        assert_eq!(candidates("10.0.0.0/29", "", 99), "10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6");
        assert_eq!(candidates("fd00::/126", "", 99), "fd00::2 fd00::3");
        assert_eq!(candidates("10.0.0.77/30", "", 99), "10.0.0.78");
    }

    #[test]
    fn the_search_goes_round_after_the_last_reserved_address() {
        assert_eq!(candidates("10.0.0.0/29", "10.0.0.4", 99), "10.0.0.5 10.0.0.6 10.0.0.2 10.0.0.3 10.0.0.4");
        assert_eq!(candidates("10.0.0.0/29", "10.0.0.6", 2), "10.0.0.2 10.0.0.3");
        assert_eq!(candidates("fd00:10::/64", "fd00:10::ffff", 2), "fd00:10::1:0 fd00:10::1:1");
        assert_eq!(candidates("10.0.0.0/29", "10.9.9.9", 1), "10.0.0.2", "of another network");
    }

    #[test]
    fn the_ends_of_the_address_space_are_addresses_like_others() {
        assert_eq!(candidates("255.255.255.252/30", "", 9), "255.255.255.254");
        let last = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
        assert_eq!(candidates("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffc/126", "", 9), last);
    }

    #[test]
    fn networks_without_room_are_refused() {
        for net in ["10.0.0.0/31", "10.0.0.1/32", "fd00::/127"] {
            let error = AddressRange::of(net.parse().unwrap()).unwrap_err().to_string();
            assert!(error.contains("too small"), "{error}");
        }
    }

    #[test]
    fn the_gateway_is_the_first_address() {
        let range = AddressRange::of("10.0.1.0/24".parse().unwrap()).unwrap();
        let allocation = range.allocation("10.0.1.9".parse().unwrap()).unwrap();
        assert_eq!(
            (allocation.address.to_string(), allocation.gateway.to_string()),
            ("10.0.1.9/24".into(), "10.0.1.1".into())
        );
        assert_eq!(range.allocation("10.0.2.9".parse().unwrap()), None);
    }
}
