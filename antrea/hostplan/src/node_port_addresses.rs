//! The addresses of a Node that NodePorts are served on.

use std::collections::BTreeSet;
use std::net::IpAddr;

use antrea_types::InterfaceName;
use ipnet::IpNet;

use crate::InterfaceAddresses;

/// kube-proxy's interface in its IPVS mode: it has all ClusterIPs.
pub(crate) const IPVS_INTERFACE: &str = "kube-ipvs0";

/// Every address of the Node, loopback ones included, and of those the ones in `cidrs`, where there are any. Addresses
/// that are valid on a link only, and those of the gateway, which are for Pods, do not count.
pub fn node_port_addresses(
    interfaces: &[InterfaceAddresses],
    gateway: &InterfaceName,
    cidrs: &[IpNet],
) -> BTreeSet<IpAddr> {
    let of_node = |interface: &&InterfaceAddresses| {
        interface.name != *gateway && interface.name.as_str() != IPVS_INTERFACE
    };
    let selected = |ip: &IpAddr| cidrs.is_empty() || cidrs.iter().any(|cidr| cidr.contains(ip));
    let addresses = interfaces.iter().filter(of_node).flat_map(|interface| &interface.addresses);
    addresses.map(IpNet::addr).filter(|ip| !is_link_local(ip) && selected(ip)).collect()
}

pub(crate) const fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cidrs: &[&str], expected: &[&str]) {
        let interfaces = [
            ("lo", "127.0.0.1/8 ::1/128"),
            ("eth0", "172.18.1.11/24 fd00:18:1::11/64 fe80::1/64"),
            ("eth1", "172.18.2.11/24 172.18.2.12/24 169.254.7.7/16"),
            ("antrea-gw0", "10.11.0.1/24 fe80::2/64"),
            ("kube-ipvs0", "10.96.0.1/32"),
        ]
        .map(|(name, addresses)| InterfaceAddresses {
            name: name.parse().unwrap(),
            addresses: addresses.split(' ').map(|text| text.parse().unwrap()).collect(),
        });
        let cidrs: Vec<IpNet> = cidrs.iter().map(|text| text.parse().unwrap()).collect();
        let found = node_port_addresses(&interfaces, &"antrea-gw0".parse().unwrap(), &cidrs);
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn all_addresses_of_the_node_count_but_those_of_pods_services_and_links() {
        check(&[], &["127.0.0.1", "172.18.1.11", "172.18.2.11", "172.18.2.12", "::1", "fd00:18:1::11"]);
    }

    #[test]
    fn networks_choose_among_them() {
        check(&["172.18.2.0/24", "fd00:18::/32"], &["172.18.2.11", "172.18.2.12", "fd00:18:1::11"]);
        check(&["127.0.0.0/8"], &["127.0.0.1"]);
        check(&["10.11.0.0/16"], &[]);
    }
}
