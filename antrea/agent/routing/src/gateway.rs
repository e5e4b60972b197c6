//! The address of a Node's gateway, which follows from the Node's Pod networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use antrea_types::DualStack;
use ipnet::IpNet;

/// The address of the gateway in a Pod network: the first one behind the network's own. None where the network has no
/// second address.
pub fn gateway_ip(pod_cidr: IpNet) -> Option<IpAddr> {
    let address = match pod_cidr.network() {
        IpAddr::V4(network) => Ipv4Addr::from_bits(network.to_bits().checked_add(1)?).into(),
        IpAddr::V6(network) => Ipv6Addr::from_bits(network.to_bits().checked_add(1)?).into(),
    };
    pod_cidr.contains(&address).then_some(address)
}

/// The gateway's address in each of a Node's Pod networks.
pub fn gateway_ips(pod_cidrs: &DualStack<IpNet>) -> DualStack<IpAddr> {
    pod_cidrs.iter().filter_map(|cidr| gateway_ip(*cidr)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gateway_has_the_first_address() {
        for (cidr, gateway) in [
            ("10.10.0.0/24", Some("10.10.0.1")),
            ("10.10.0.128/25", Some("10.10.0.129")),
            ("10.10.0.77/24", Some("10.10.0.1")),
            ("fd00:10::/64", Some("fd00:10::1")),
            ("10.10.0.0/32", None),
            ("255.255.255.255/32", None),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", None),
        ] {
            let expected = gateway.map(|text| text.parse().unwrap());
            assert_eq!(gateway_ip(cidr.parse().unwrap()), expected, "{cidr}");
        }
    }
}
