//! Addresses that no cluster can have, in one list for leaders, members and agents, and those of private networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, length: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, 0, 0), length))
}

const fn v6(first: u16, last: u16, length: u8) -> IpNet {
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(first, 0, 0, 0, 0, 0, 0, last), length))
}

/// Networks whose addresses no host has for others, and what they are (RFC 6890); Antrea's virtual addresses are link-local.
/// An IPv4-mapped address is the same host as an IPv4 address, past all that is said of IPv4 networks.
const UNUSABLE: [(IpNet, &str); 11] = [
    (v4(0, 0, 32), "unspecified"),
    (v4(0, 0, 8), "reserved"),
    (v4(127, 0, 8), "loopback"),
    (v4(169, 254, 16), "link-local"),
    (v4(224, 0, 4), "multicast"),
    (v4(240, 0, 4), "reserved"),
    (v6(0, 0, 128), "unspecified"),
    (v6(0, 1, 128), "loopback"),
    (IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96)), "IPv4-mapped"),
    (v6(0xfe80, 0, 10), "link-local"),
    (v6(0xff00, 0, 8), "multicast"),
];

/// Networks that anybody may use within an organisation: RFC 1918, shared addresses (RFC 6598), unique local ones (RFC 4193).
const PRIVATE: [IpNet; 5] =
    [v4(10, 0, 8), v4(172, 16, 12), v4(192, 168, 16), v4(100, 64, 10), v6(0xfc00, 0, 7)];

/// The networks whose addresses no cluster can have.
pub fn unusable_networks() -> impl Iterator<Item = IpNet> {
    UNUSABLE.iter().map(|(network, _)| *network)
}

/// What makes a network unusable: a word for some of its addresses that no cluster can have.
pub fn unusable_part(network: &IpNet) -> Option<&'static str> {
    UNUSABLE.iter().find(|(unusable, _)| overlap(unusable, network)).map(|(_, what)| *what)
}

/// What makes an address unusable.
pub fn unusable(address: IpAddr) -> Option<&'static str> {
    unusable_part(&address.into())
}

/// Whether all addresses of a network are private ones.
pub fn is_private(network: &IpNet) -> bool {
    PRIVATE.iter().any(|private| private.contains(network))
}

/// Two networks overlap only if one contains the other.
pub fn overlap(one: &IpNet, other: &IpNet) -> bool {
    one.contains(other) || other.contains(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is unusable, each where a network begins, ends, lies around it or is a single address.
    #[test]
    fn no_cluster_has_these() {
        for (network, what) in [
            ("0.0.0.0/0", "unspecified"),
            ("0.0.0.0/32", "unspecified"),
            ("0.1.0.0/16", "reserved"),
            ("127.0.0.1/32", "loopback"),
            ("126.0.0.0/7", "loopback"),
            ("169.254.0.252/30", "link-local"),
            ("224.0.0.0/4", "multicast"),
            ("240.0.0.0/5", "reserved"),
            ("255.255.255.255/32", "reserved"),
            ("::/0", "unspecified"),
            ("::1/128", "loopback"),
            ("::ffff:10.0.0.0/104", "IPv4-mapped"),
            ("fe80::/64", "link-local"),
            ("ff02::/16", "multicast"),
        ] {
            assert_eq!(unusable_part(&network.parse().unwrap()), Some(what), "{network}");
        }
        for network in ["1.0.0.0/8", "10.0.0.0/8", "126.0.0.0/8", "223.0.0.0/8", "2001:db8::/32", "fc00::/7"]
        {
            assert_eq!(unusable_part(&network.parse().unwrap()), None, "{network}");
        }
    }

    #[test]
    fn private_networks_are_those_that_lie_within_one_as_a_whole() {
        let private = |network: &str| is_private(&network.parse().unwrap());
        for network in
            ["10.0.0.0/8", "10.1.2.3/32", "172.16.0.0/12", "192.168.4.0/24", "100.64.0.0/10", "fd00:96::/112"]
        {
            assert!(private(network), "{network}");
        }
        for network in [
            "8.0.0.0/7",
            "32.0.0.0/3",
            "64.0.0.0/3",
            "100.0.0.0/8",
            "172.0.0.0/8",
            "172.32.0.0/12",
            "192.0.0.0/8",
            "1.1.1.1/32",
            "2000::/3",
            "fc00::/6",
        ] {
            assert!(!private(network), "{network}");
        }
    }
}
