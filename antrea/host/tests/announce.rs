//! Announcements, seen by the neighbour caches that they are for.

use antrea_host::Netlink;
use antrea_host::announce::announce;
use antrea_host::netlink::{Veth, VethEnd};
use antrea_types::MacAddr;

use crate::sandbox::{OtherNetns, isolated, sh};

const OLD: &str = "02:00:00:00:00:99";
const NEW: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x0a]);

/// A neighbour cache that still holds who had an address before learns who has it now.
#[test]
fn neighbours_forget_who_had_the_addresses_before() {
    isolated("announce", async || {
        let pod = OtherNetns::new();
        let end = |name: &str, mac| VethEnd { name: name.parse().unwrap(), mac, mtu: 1500 };
        let veth =
            Veth { here: end("gw", None), peer: end("eth0", Some(NEW)), peer_netns: Some(pod.netns()) };
        Netlink::current().unwrap().create_veth(&veth).await.unwrap();
        sh(
            "ip link set gw up; ip address add 10.11.0.1/24 dev gw; ip -6 address add fd00:11::1/64 dev gw nodad",
        );
        // A locked entry is not replaced for a second.
        sh("echo 0 > /proc/sys/net/ipv4/neigh/gw/locktime");
        pod.sh("ip link set eth0 up").await;
        for ip in ["10.11.0.3", "fd00:11::3"] {
            sh(&format!("ip neigh replace {ip} lladdr {OLD} dev gw nud stale"));
        }
        let addresses = ["10.11.0.3", "fd00:11::3"].map(|text| text.parse().unwrap());
        announce(&pod.netns(), &"eth0".parse().unwrap(), NEW, &addresses).await.unwrap();
        for ip in ["10.11.0.3", "fd00:11::3"] {
            let shown = sh(&format!("ip neigh show {ip} dev gw"));
            assert!(shown.contains(&NEW.to_string()), "{shown}");
        }
    });
}

#[test]
fn an_interface_that_is_gone_is_told() {
    isolated("announce", async || {
        let pod = OtherNetns::new();
        let address = ["10.11.0.3".parse().unwrap()];
        let error = announce(&pod.netns(), &"eth0".parse().unwrap(), NEW, &address).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot announce addresses on eth0");
    });
}
