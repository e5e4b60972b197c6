//! Which addresses a lab uses. Labs side by side have different blocks; clusters have different parts of a block.
//!
//! ```text
//! block 0             172.18.0.0/16    fd00:172:18::/48     block 1 172.19.0.0/16, … block 12 172.30.0.0/16
//!   c1 eth0 (Nodes)   172.18.2.0/24    fd00:172:18:2::/64   .1 router, .2 API server, .11 c1-n1, .12 c1-n2, …
//!   c1 eth1           172.18.3.0/24    fd00:172:18:3::/64   .1 router, .11 c1-n1, …
//!   outside           172.18.254.0/24  fd00:172:18:fe::/64  .1 router, .2 the server
//!   host              172.18.255.0/24  fd00:172:18:ff::/64  .1 the host, .2 router
//! c1 Pods             10.11.0.0/16     fd00:10:1::/48       the same in every lab: the host has no route to them
//! c1 Services         10.111.0.0/16    fd00:20:1::/108
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use antrea_types::{DualStack, IpFamily};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::{Deserialize, Serialize};

use super::request::Families;
use crate::names::ClusterId;

/// How many labs fit side by side.
pub const BLOCKS: u8 = 13;

/// The addresses of one lab: which of the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Block(pub u8);

const OUTSIDE: u8 = 254;
const HOST: u8 = 255;

impl Block {
    /// The first block that none of `taken` overlaps; default routes do not count.
    pub fn first_free(taken: &[IpNet]) -> Option<Self> {
        (0..BLOCKS).map(Self).find(|block| {
            let overlaps =
                |net: &IpNet| net.prefix_len() > 0 && block.nets().iter().any(|own| overlap(own, net));
            !taken.iter().any(overlaps)
        })
    }

    /// The whole block.
    pub fn nets(self) -> DualStack<IpNet> {
        let second = 18 + self.0;
        DualStack {
            v4: net_v4([172, second, 0, 0], 16),
            v6: net_v6([0xfd00, 0x172, decimal(second), 0, 0, 0, 0, 0], 48),
        }
    }

    fn subnet(self, third: u8) -> DualStack<IpNet> {
        let second = 18 + self.0;
        DualStack {
            v4: net_v4([172, second, third, 0], 24),
            v6: net_v6([0xfd00, 0x172, decimal(second), third.into(), 0, 0, 0, 0], 64),
        }
    }

    /// The subnet of eth0 in a cluster.
    pub fn nodes(self, cluster: ClusterId) -> DualStack<IpNet> {
        self.subnet(2 * cluster.0)
    }

    /// The subnet of eth1 in a cluster.
    pub fn transport(self, cluster: ClusterId) -> DualStack<IpNet> {
        self.subnet(2 * cluster.0 + 1)
    }

    /// Between router and the server outside.
    pub fn outside(self) -> DualStack<IpNet> {
        self.subnet(OUTSIDE)
    }

    /// Between host and router.
    pub fn host(self) -> DualStack<IpNet> {
        self.subnet(HOST)
    }
}

/// The Pod CIDR of a cluster for which none was given.
pub(super) fn default_pod_cidrs(cluster: ClusterId) -> DualStack<IpNet> {
    DualStack {
        v4: net_v4([10, 10 + cluster.0, 0, 0], 16),
        v6: net_v6([0xfd00, 0x10, decimal(cluster.0), 0, 0, 0, 0, 0], 48),
    }
}

/// The Service CIDR of a cluster for which none was given.
pub(super) fn default_service_cidrs(cluster: ClusterId) -> DualStack<IpNet> {
    DualStack {
        v4: net_v4([10, 110 + cluster.0, 0, 0], 16),
        v6: net_v6([0xfd00, 0x20, decimal(cluster.0), 0, 0, 0, 0, 0], 108),
    }
}

/// Only what `families` has.
pub(super) fn only<T>(values: DualStack<T>, families: Families) -> DualStack<T> {
    DualStack {
        v4: values.v4.filter(|_| families.has(IpFamily::V4)),
        v6: values.v6.filter(|_| families.has(IpFamily::V6)),
    }
}

/// The families of some networks.
pub fn families_of(nets: &DualStack<IpNet>) -> Option<Families> {
    match (nets.v4, nets.v6) {
        (Some(_), Some(_)) => Some(Families::Dual),
        (Some(_), None) => Some(Families::Ipv4),
        (None, Some(_)) => Some(Families::Ipv6),
        (None, None) => None,
    }
}

/// The address `offset` after the network's own, if it is in the network.
pub fn address_in(net: &IpNet, offset: u8) -> Option<IpAddr> {
    let address = match net.network() {
        IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits().checked_add(offset.into())?)),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits().checked_add(offset.into())?)),
    };
    net.contains(&address).then_some(address)
}

/// Whether two networks share an address.
pub(super) fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(&b.network()) || b.contains(&a.network())
}

fn net_v4(octets: [u8; 4], prefix: u8) -> Option<IpNet> {
    Ipv4Net::new(octets.into(), prefix).ok().map(IpNet::V4)
}

fn net_v6(segments: [u16; 8], prefix: u8) -> Option<IpNet> {
    Ipv6Net::new(segments.into(), prefix).ok().map(IpNet::V6)
}

/// The segment of an IPv6 address that reads like the decimal number: 18 becomes 0x18.
fn decimal(number: u8) -> u16 {
    let number = u16::from(number);
    (number / 100) * 0x100 + (number / 10 % 10) * 0x10 + number % 10
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_lab_avoids_networks_the_host_has_routes_to() {
        assert_eq!(Block::first_free(&nets(&["0.0.0.0/0", "::/0", "192.0.2.0/24"])), Some(Block(0)));
        assert_eq!(Block::first_free(&nets(&["172.18.255.0/24", "172.19.0.0/16"])), Some(Block(2)));
        assert_eq!(Block::first_free(&nets(&["fd00:172:18::/48"])), Some(Block(1)));
        assert_eq!(Block::first_free(&nets(&["172.16.0.0/12"])), None);
    }

    #[test]
    fn numbers_read_the_same_in_both_families() {
        let subnet = Block(3).transport(ClusterId(12));
        assert_eq!(
            subnet.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["172.21.25.0/24", "fd00:172:21:19::/64"]
        );
    }
}
