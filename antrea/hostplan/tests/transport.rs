//! The choice of the transport interface.

use antrea_hostplan::{InterfaceAddresses, TransportSelector, select_transport};

fn interfaces() -> Vec<InterfaceAddresses> {
    [
        ("lo", "127.0.0.1/8 ::1/128"),
        ("eth0", "172.18.1.11/24 fd00:18:1::11/64 fe80::1/64"),
        ("eth1", "172.18.2.11/24 172.18.3.11/24 fd00:18:2::11/64 fe80::2/64"),
        ("eth2", "fe80::3/64"),
    ]
    .into_iter()
    .map(|(name, addresses)| InterfaceAddresses {
        name: name.parse().unwrap(),
        addresses: addresses.split(' ').map(|text| text.parse().unwrap()).collect(),
    })
    .collect()
}

#[track_caller]
fn check(selector: &TransportSelector, expected: &str) {
    let found = match select_transport(selector, &interfaces()) {
        Ok(transport) => {
            let addresses = transport.addresses.iter().map(|net| format!(" {net}"));
            format!("{}{}", transport.interface, addresses.collect::<String>())
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected);
}

fn by_name(name: &str) -> TransportSelector {
    TransportSelector::Interface(name.parse().unwrap())
}

fn by_cidrs(cidrs: &[&str]) -> TransportSelector {
    TransportSelector::Cidrs(cidrs.iter().map(|text| text.parse().unwrap()).collect())
}

fn by_node(addresses: &[&str]) -> TransportSelector {
    TransportSelector::NodeAddresses(
        addresses.iter().map(|text| text.parse::<std::net::IpAddr>().unwrap()).collect(),
    )
}

#[test]
fn by_name_the_first_address_of_each_family_counts() {
    check(&by_name("eth1"), "eth1 172.18.2.11/24 fd00:18:2::11/64");
    check(&by_name("eth2"), "the transport interface eth2 has no IP address beyond the link");
    check(&by_name("eth9"), "the transport interface eth9 does not exist; there are: lo, eth0, eth1, eth2");
}

#[test]
fn by_cidrs_the_first_network_that_finds_an_address_counts() {
    check(&by_cidrs(&["10.0.0.0/8", "172.18.3.0/24", "172.18.0.0/16"]), "eth1 172.18.3.11/24");
    check(&by_cidrs(&["172.18.2.0/24", "fd00:18:2::/64"]), "eth1 172.18.2.11/24 fd00:18:2::11/64");
    check(
        &by_cidrs(&["10.0.0.0/8"]),
        "no interface has an address in 10.0.0.0/8; there are: \
         172.18.1.11/24, fd00:18:1::11/64, 172.18.2.11/24, 172.18.3.11/24, fd00:18:2::11/64",
    );
}

#[test]
fn by_addresses_of_the_node_the_interface_that_has_them_counts() {
    check(&by_node(&["172.18.1.11"]), "eth0 172.18.1.11/24");
    check(&by_node(&["172.18.1.11", "fd00:18:1::11"]), "eth0 172.18.1.11/24 fd00:18:1::11/64");
    check(
        &by_node(&["172.18.9.1"]),
        "no interface has an address of this Node, which are 172.18.9.1; there are: \
         172.18.1.11/24, fd00:18:1::11/64, 172.18.2.11/24, 172.18.3.11/24, fd00:18:2::11/64",
    );
}

#[test]
fn both_families_must_be_on_one_interface() {
    check(
        &by_node(&["172.18.1.11", "fd00:18:2::11"]),
        "the IPv4 transport address is on eth0 and the IPv6 one on eth1: both must be on one interface",
    );
}
