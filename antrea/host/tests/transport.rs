//! The transport interface of a Node.

use antrea_host::{Netlink, find_transport};
use antrea_hostplan::TransportSelector;

use crate::sandbox::{isolated, sh};

#[test]
fn it_is_found_by_name_network_and_address_of_the_node() {
    isolated("transport", async || {
        sh("ip link add eth0 type veth peer name eth1");
        sh("ip link set eth1 mtu 9000 address 02:00:00:00:00:01");
        sh("ip address add 172.18.1.11/24 dev eth0; ip address add 172.18.2.11/24 dev eth1");
        sh("ip -6 address add fd00:18::11/64 dev eth1 nodad");
        let netlink = Netlink::current().unwrap();
        let selectors = [
            TransportSelector::Interface("eth1".parse().unwrap()),
            TransportSelector::Cidrs(vec!["172.18.2.0/24".parse().unwrap(), "fd00:18::/64".parse().unwrap()]),
            TransportSelector::NodeAddresses(
                ["172.18.2.11", "fd00:18::11"]
                    .map(|text| text.parse::<std::net::IpAddr>().unwrap())
                    .into_iter()
                    .collect(),
            ),
        ];
        for selector in selectors {
            let found = find_transport(&netlink, &selector).await.unwrap();
            let addresses: Vec<String> = found.transport.addresses.iter().map(ToString::to_string).collect();
            assert_eq!(addresses, ["172.18.2.11/24", "fd00:18::11/64"], "{selector:?}");
            assert_eq!((found.transport.interface.as_str(), found.mtu), ("eth1", 9000));
            assert_eq!(found.mac, Some("02:00:00:00:00:01".parse().unwrap()));
        }
    });
}
