//! The drop at the ingress hook of a device.

use antrea_host::{Outcome, drop_ingress, ingress_drops, remove_device_chains, stop_dropping_ingress};
use antrea_types::InterfaceName;

use crate::sandbox::{OtherNetns, isolated, sh, succeeds};

fn name(text: &str) -> InterfaceName {
    text.parse().unwrap()
}

async fn node_and_pod() -> OtherNetns {
    let pod = OtherNetns::new();
    sh("ip link add port-1 type veth peer name tmp");
    let path = pod.path();
    // `ip` wants a name or a process; a veth end moves by the namespace file that this process holds.
    let veth_peer = antrea_host::netlink::Veth {
        here: antrea_host::netlink::VethEnd { name: name("1-pod"), mac: None, mtu: 1500 },
        peer: antrea_host::netlink::VethEnd { name: name("eth0"), mac: None, mtu: 1500 },
        peer_netns: Some(antrea_host::Netns::open(path).unwrap()),
    };
    antrea_host::Netlink::current().unwrap().create_veth(&veth_peer).await.unwrap();
    sh("ip link delete port-1; ip address add 10.10.0.1/24 dev 1-pod; ip link set 1-pod up");
    pod.sh("ip address add 10.10.0.2/24 dev eth0; ip link set eth0 up").await;
    pod
}

fn received() -> u64 {
    sh("cat /sys/class/net/1-pod/statistics/rx_packets || ip -s link show 1-pod").parse().unwrap_or_default()
}

#[test]
fn what_arrives_is_counted_and_dropped() {
    isolated("ingress drop", async || {
        let pod = node_and_pod().await;
        assert!(pod.succeeds("ping -c 1 -W 2 10.10.0.1").await);
        drop_ingress(&name("1-pod")).await.unwrap();
        drop_ingress(&name("1-pod")).await.unwrap();
        let before = received();
        assert!(!pod.succeeds("ping -c 1 -W 1 10.10.0.1").await);
        assert!(received() >= before);
        assert_eq!(stop_dropping_ingress(&name("1-pod")).await.unwrap(), Outcome::Changed);
        assert_eq!(stop_dropping_ingress(&name("1-pod")).await.unwrap(), Outcome::Unchanged);
        assert!(pod.succeeds("ping -c 1 -W 2 10.10.0.1").await);
    });
}

#[test]
fn it_shows_in_nft_as_the_command_would_have_made_it() {
    isolated("ingress drop", async || {
        let _pod = node_and_pod().await;
        drop_ingress(&name("1-pod")).await.unwrap();
        let shown = sh("nft list ruleset");
        assert_eq!(
            shown.split_whitespace().collect::<Vec<_>>().join(" "),
            "table netdev antrea { chain ingress-1-pod { \
             type filter hook ingress device \"1-pod\" priority filter; policy drop; } }"
        );
        sh("nft list ruleset > /proc/self/fd/1 | nft -c -f -");
        assert_eq!(ingress_drops().await.unwrap(), [name("1-pod")]);
    });
}

#[test]
fn a_device_that_comes_back_drops_again() {
    isolated("ingress drop", async || {
        for _ in 0..2 {
            let pod = node_and_pod().await;
            drop_ingress(&name("1-pod")).await.unwrap();
            assert!(!pod.succeeds("ping -c 1 -W 1 10.10.0.1").await);
            sh("ip link delete 1-pod");
        }
        // Some kernels keep the chain without its device.
        stop_dropping_ingress(&name("1-pod")).await.unwrap();
        assert_eq!(ingress_drops().await.unwrap(), []);
    });
}

#[test]
fn a_device_that_does_not_exist_is_told() {
    isolated("ingress drop", async || {
        assert_eq!(stop_dropping_ingress(&name("eth9")).await.unwrap(), Outcome::Unchanged);
        match drop_ingress(&name("eth9")).await {
            Err(error) => assert_eq!(
                error.to_string(),
                "cannot drop what arrives at eth9; the kernel needs nf_tables with the netdev family"
            ),
            // Kernels that take hooks of devices to come keep a chain for this one.
            Ok(()) => assert_eq!(ingress_drops().await.unwrap(), [name("eth9")]),
        }
        assert!(succeeds("ip link show lo"));
    });
}

#[test]
fn all_drops_end_at_once_and_leave_nothing() {
    isolated("ingress drop", async || {
        let pod = node_and_pod().await;
        sh("ip link add port-2 type veth peer name port-3");
        drop_ingress(&name("1-pod")).await.unwrap();
        drop_ingress(&name("port-2")).await.unwrap();
        assert_eq!(remove_device_chains().await.unwrap(), Outcome::Changed);
        assert_eq!(remove_device_chains().await.unwrap(), Outcome::Unchanged);
        assert_eq!(sh("nft list ruleset"), "");
        assert!(pod.succeeds("ping -c 1 -W 2 10.10.0.1").await);
    });
}
