//! Links, addresses and neighbours.

use antrea_host::netlink::{AdminState, Arp, LinkSettings, Veth, VethEnd};
use antrea_host::{Netlink, Outcome};
use antrea_hostplan::{Address, Neighbour};
use antrea_types::InterfaceName;

use crate::sandbox::{OtherNetns, isolated, sh};

fn name(text: &str) -> InterfaceName {
    text.parse().unwrap()
}

fn pair(here: &str, peer: &str) -> Veth {
    let end = |text| VethEnd { name: name(text), mac: None, mtu: 1450 };
    Veth { here: end(here), peer: end(peer), peer_netns: None }
}

#[test]
fn a_link_that_is_not_there_is_none() {
    isolated("links", async || {
        let netlink = Netlink::current().unwrap();
        assert_eq!(netlink.link(&name("eth9")).await.unwrap(), None);
        assert_eq!(netlink.delete_link(&name("eth9")).await.unwrap(), Outcome::Unchanged);
        let error = netlink.ensure_link(&name("eth9"), &LinkSettings::up()).await.unwrap_err();
        assert_eq!(error.to_string(), "there is no interface eth9");
    });
}

#[test]
fn a_veth_pair_is_created_across_namespaces_with_names_macs_and_mtu() {
    isolated("links", async || {
        let (netlink, pod) = (Netlink::current().unwrap(), OtherNetns::new());
        let mac = "02:00:00:00:00:0a".parse().unwrap();
        let veth = Veth {
            peer: VethEnd { name: name("eth0"), mac: Some(mac), mtu: 1400 },
            peer_netns: Some(pod.netns()),
            ..pair("pod-a1b2c3", "eth0")
        };
        netlink.create_veth(&veth).await.unwrap();
        let host = netlink.link(&name("pod-a1b2c3")).await.unwrap().unwrap();
        let in_pod = Netlink::in_netns(&pod.netns()).await.unwrap();
        let container = in_pod.link(&name("eth0")).await.unwrap().unwrap();
        assert_eq!((host.mtu, container.mtu, container.mac), (1450, 1400, Some(mac)));
        assert_eq!((host.peer_index, container.peer_index), (Some(container.index), Some(host.index)));
        assert_eq!(host.kind.as_deref(), Some("veth"));
        let again = netlink.create_veth(&veth).await.unwrap_err();
        assert!(again.is_exists(), "{again}");
        assert_eq!(again.to_string(), "cannot create the veth pair pod-a1b2c3 and eth0");
        assert_eq!(netlink.delete_link(&name("pod-a1b2c3")).await.unwrap(), Outcome::Changed);
        assert_eq!(in_pod.link(&name("eth0")).await.unwrap(), None);
    });
}

#[test]
fn settings_are_applied_once() {
    isolated("links", async || {
        let netlink = Netlink::current().unwrap();
        netlink.create_veth(&pair("a", "b")).await.unwrap();
        sh("ip link add br0 type bridge");
        let settings = LinkSettings {
            state: Some(AdminState::Up),
            mtu: Some(1300),
            mac: Some("02:00:00:00:00:01".parse().unwrap()),
            arp: Some(Arp::Off),
            controller: Some(netlink.existing_link(&name("br0")).await.unwrap().index),
        };
        assert_eq!(netlink.ensure_link(&name("a"), &settings).await.unwrap(), Outcome::Changed);
        assert_eq!(netlink.ensure_link(&name("a"), &settings).await.unwrap(), Outcome::Unchanged);
        let shown = sh("ip -o link show a");
        for part in ["NOARP", "UP", "mtu 1300", "master br0", "02:00:00:00:00:01"] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
    });
}

#[test]
fn a_link_is_renamed() {
    isolated("links", async || {
        let netlink = Netlink::current().unwrap();
        netlink.create_veth(&pair("a", "b")).await.unwrap();
        netlink.rename_link(&name("a"), &name("c")).await.unwrap();
        let names: Vec<String> =
            netlink.links().await.unwrap().iter().map(|link| link.name.to_string()).collect();
        assert_eq!(names, ["lo", "b", "c"]);
    });
}

#[test]
fn addresses_of_both_families_are_set_once_and_serve_at_once() {
    isolated("addresses", async || {
        let netlink = Netlink::current().unwrap();
        netlink.create_veth(&pair("a", "b")).await.unwrap();
        netlink.ensure_link(&name("a"), &LinkSettings::up()).await.unwrap();
        netlink.ensure_link(&name("b"), &LinkSettings::up()).await.unwrap();
        for text in ["10.10.0.1/24", "10.10.0.2/24 noprefixroute", "fd00:10::1/64"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(
                netlink.ensure_address(&name("a"), &address).await.unwrap(),
                Outcome::Changed,
                "{text}"
            );
            assert_eq!(
                netlink.ensure_address(&name("a"), &address).await.unwrap(),
                Outcome::Unchanged,
                "{text}"
            );
        }
        let shown = sh("ip -o address show dev a");
        assert!(shown.contains("10.10.0.1/24 brd 10.10.0.255"), "{shown}");
        assert!(
            shown.lines().any(|line| line.contains("fd00:10::1/64") && !line.contains("tentative")),
            "{shown}"
        );
        let addresses = netlink.addresses(&name("a")).await.unwrap();
        let global = addresses.iter().filter(|address| !address.is_local()).map(ToString::to_string);
        assert_eq!(
            global.collect::<Vec<_>>(),
            ["10.10.0.1/24", "10.10.0.2/24 noprefixroute", "fd00:10::1/64"]
        );
        let first: Address = "10.10.0.1/24".parse().unwrap();
        assert_eq!(netlink.delete_address(&name("a"), &first).await.unwrap(), Outcome::Changed);
        assert_eq!(netlink.delete_address(&name("a"), &first).await.unwrap(), Outcome::Unchanged);
    });
}

#[test]
fn permanent_neighbours_of_both_families_are_kept_as_desired() {
    isolated("neighbours", async || {
        let netlink = Netlink::current().unwrap();
        netlink.create_veth(&pair("a", "b")).await.unwrap();
        netlink.ensure_link(&name("a"), &LinkSettings::up()).await.unwrap();
        let neighbour = |ip: &str, mac: &str| Neighbour {
            ip: ip.parse().unwrap(),
            device: name("a"),
            mac: mac.parse().unwrap(),
        };
        let peer = neighbour("fd00:11::1", "aa:bb:cc:dd:ee:ff");
        assert_eq!(netlink.ensure_neighbour(&peer).await.unwrap(), Outcome::Changed);
        assert_eq!(netlink.ensure_neighbour(&peer).await.unwrap(), Outcome::Unchanged);
        assert_eq!(sh("ip neigh show dev a"), "fd00:11::1 lladdr aa:bb:cc:dd:ee:ff PERMANENT");
        let desired =
            [neighbour("fd00:12::1", "aa:bb:cc:dd:ee:ff"), neighbour("169.254.0.253", "aa:bb:cc:dd:ee:ff")];
        let owned = |neighbour: &Neighbour| neighbour.device == name("a");
        let changes = netlink.sync_neighbours(&desired, owned).await.unwrap();
        assert_eq!((changes.set.len(), changes.delete), (2, vec![peer]));
        assert!(netlink.sync_neighbours(&desired, owned).await.unwrap().is_empty());
    });
}
