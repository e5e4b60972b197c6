//! Datagrams to a Node's end of the tunnel on their way through a host: from a Pod, from another Node, and by what kube-proxy
//! translates.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use antrea_host::{Netns, Outcome, firewall};
use antrea_hostplan::{HostConfig, host_rules};
use antrea_types::TunnelTraffic;

use crate::firewall::config;
use crate::sandbox::{isolated, sh};
use crate::services::Cabling;

/// For a datagram to arrive.
const PATIENCE: Duration = Duration::from_millis(200);

/// For a path to work, over links that have just come up and to neighbours that are asked for again after a second.
const PATH_PATIENCE: Duration = Duration::from_secs(10);

/// Of more than the MTU: it travels in fragments.
const LARGE: usize = 1600;

/// What kube-proxy does: each port leads to an endpoint, and nobody keeps back what it has translated.
const SERVICES: &str = "
    iptables -I FORWARD -m conntrack --ctstate DNAT -j ACCEPT
    iptables -t nat -A PREROUTING -p udp --dport 1001 -j DNAT --to 172.18.0.2:6081
    iptables -t nat -A PREROUTING -p udp --dport 1002 -j DNAT --to 172.18.0.2:6082
    iptables -t nat -A PREROUTING -p udp --dport 1003 -j DNAT --to 172.18.0.11:6081
    iptables -t nat -A PREROUTING -p udp --dport 1004 -j DNAT --to 10.11.0.7:6081";

fn bound(address: &str, port: u16) -> UdpSocket {
    let socket = UdpSocket::bind((address, port)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// How many datagrams were sent: each has its number.
static SENT: AtomicU64 = AtomicU64::new(0);

/// Whether a datagram arrives at a socket, after others that are late.
async fn arrives(from: &Netns, to: &str, at: &UdpSocket, length: usize) -> bool {
    let any = if to.starts_with('[') { "::" } else { "0.0.0.0" };
    let sender = from.run(move || bound(any, 0)).await.unwrap();
    let mut datagram = SENT.fetch_add(1, Ordering::Relaxed).to_be_bytes().to_vec();
    datagram.resize(length, 0);
    sender.send_to(&datagram, to).unwrap();
    let mut received = [0; LARGE];
    loop {
        match at.recv(&mut received) {
            Ok(length) if received[..length] == datagram => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

/// Small and large datagrams arrive, or do not.
async fn check(from: &Netns, to: &str, at: &UdpSocket, expected: bool) {
    for length in [100, LARGE] {
        let deadline = Instant::now() + PATH_PATIENCE;
        let mut arrived = arrives(from, to, at, length).await;
        while expected && !arrived && Instant::now() < deadline {
            arrived = arrives(from, to, at, length).await;
        }
        let rules = || sh("iptables-save -c; ip6tables-save -c");
        assert_eq!(arrived, expected, "{length} bytes from {from:?} to {to}\n{}", rules());
    }
}

#[test]
fn nothing_comes_to_a_tunnel_but_what_another_node_sends_there() {
    isolated("forged tunnels", async || {
        let cabling = Cabling::new().await;
        let applied = host_rules(&config());
        firewall::apply_at_start(&applied).await.unwrap();
        sh(SERVICES);
        let (pod, node, peer) = (cabling.bridge.netns(), Netns::current().unwrap(), cabling.client.netns());
        let receivers = || [6081, 6082].map(|port| bound("::", port));
        let [in_pod, _] = pod.run(receivers).await.unwrap();
        let [at_node, beside_node] = node.run(receivers).await.unwrap();
        let [at_peer, beside_peer] = peer.run(receivers).await.unwrap();
        for (from, to, at, expected) in [
            (&pod, "172.18.0.2:6081", &at_peer, false),
            (&pod, "172.18.0.2:6082", &beside_peer, true),
            (&pod, "172.18.0.11:6081", &at_node, false),
            (&pod, "10.11.0.1:6081", &at_node, false),
            (&pod, "10.11.0.1:6082", &beside_node, true),
            (&pod, "[fd00:18::2]:6081", &at_peer, false),
            (&pod, "[fd00:18::2]:6082", &beside_peer, true),
            (&pod, "[fd00:18::11]:6081", &at_node, false),
            (&pod, "10.96.0.99:1001", &at_peer, false),
            (&pod, "10.96.0.99:1002", &beside_peer, true),
            (&pod, "172.18.0.11:1003", &at_node, false),
            (&peer, "172.18.0.11:1003", &at_node, false),
            (&peer, "172.18.0.11:1004", &in_pod, true),
            (&node, "10.11.0.7:6081", &in_pod, true),
            (&node, "172.18.0.2:6081", &at_peer, true),
            (&peer, "172.18.0.11:6081", &at_node, true),
            (&peer, "[fd00:18::11]:6081", &at_node, true),
        ] {
            check(from, to, at, expected).await;
        }
        // The same host, when it is no Node any more.
        let without_peers = host_rules(&HostConfig { far_ends: [].into(), ..config() });
        firewall::update(&applied, &without_peers).await.unwrap();
        for to in ["172.18.0.11:6081", "[fd00:18::11]:6081"] {
            check(&peer, to, &at_node, false).await;
        }
        for to in ["172.18.0.11:6082", "[fd00:18::11]:6082"] {
            check(&peer, to, &beside_node, true).await;
        }
    });
}

#[test]
fn a_stranger_sends_nothing_to_a_tunnel_over_a_family_that_is_not_used() {
    isolated("tunnels of the other family", async || {
        let cabling = Cabling::new().await;
        for (pods, at, address, beside) in [
            ("10.11.0.0/24", "fd00:18::2", "[fd00:18::11]:6081", "[fd00:18::11]:6082"),
            ("fd00:11::/64", "172.18.0.2", "172.18.0.11:6081", "172.18.0.11:6082"),
        ] {
            let with = |far_ends: &[&str]| {
                let far_ends = far_ends.iter().map(|text| text.parse().unwrap()).collect();
                let own_pod_cidrs = [pods.parse().unwrap()].into_iter().collect();
                host_rules(&HostConfig { own_pod_cidrs, far_ends, ..config() })
            };
            let (node, peer) = (Netns::current().unwrap(), cabling.client.netns());
            let [at_node, beside_node] =
                node.run(|| [6081, 6082].map(|port| bound("::", port))).await.unwrap();
            let strangers = with(&[]);
            // A Node whose Pods need no such rules starts without them.
            firewall::apply_at_start(&strangers).await.unwrap();
            check(&peer, address, &at_node, true).await;
            assert_eq!(firewall::sync_unused_families(&strangers).await.unwrap(), Outcome::Changed);
            sh("iptables -I INPUT -j ACCEPT; ip6tables -I INPUT -j ACCEPT");
            check(&peer, address, &at_node, false).await;
            check(&peer, beside, &beside_node, true).await;
            firewall::update(&strangers, &with(&[at])).await.unwrap();
            check(&peer, address, &at_node, true).await;
            assert_eq!(firewall::sync(&with(&[at])).await.unwrap(), Outcome::Unchanged);
            assert_eq!(firewall::sync_unused_families(&with(&[at])).await.unwrap(), Outcome::Unchanged);
            firewall::remove().await.unwrap();
        }
    });
}

#[test]
fn what_a_former_configuration_had_of_a_family_that_is_not_used_any_more_goes() {
    isolated("tunnels of the other family", async || {
        sh("ip link add antrea-gw0 type bridge");
        let own_pod_cidrs = || ["10.11.0.0/24".parse().unwrap()].into_iter().collect();
        firewall::apply_at_start(&host_rules(&config())).await.unwrap();
        sh("ip6tables -A INPUT -p udp --dport 9 -j DROP");
        for (tunnel, left) in [(TunnelTraffic::Udp(4789), true), (TunnelTraffic::Gre, false)] {
            let tunnel = Some(tunnel);
            let plan = host_rules(&HostConfig { own_pod_cidrs: own_pod_cidrs(), tunnel, ..config() });
            firewall::apply_at_start(&plan).await.unwrap();
            assert_eq!(firewall::sync_unused_families(&plan).await.unwrap(), Outcome::Changed);
            let rules = sh("ip6tables-save");
            assert_eq!(rules.matches("-j DROP").count(), if left { 2 } else { 1 }, "{rules}");
            assert_eq!(rules.contains("ANTREA"), left, "{rules}");
        }
    });
}
