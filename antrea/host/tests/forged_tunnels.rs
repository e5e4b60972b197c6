//! Datagrams to a Node's end of the tunnel on their way through a host: from a Pod, from another Node, and by what kube-proxy
//! translates.

use std::net::UdpSocket;
use std::time::Duration;

use antrea_host::{Netns, firewall};
use antrea_hostplan::host_rules;

use crate::firewall::config;
use crate::sandbox::{isolated, sh};
use crate::services::Cabling;

/// For a datagram to arrive.
const PATIENCE: Duration = Duration::from_millis(200);

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

/// Whether a datagram arrives at a port.
async fn arrives(from: &Netns, to: &str, at: &Netns, port: u16, length: usize) -> bool {
    let receiver = at.run(move || bound("::", port)).await.unwrap();
    let any = if to.starts_with('[') { "::" } else { "0.0.0.0" };
    let sender = from.run(move || bound(any, 0)).await.unwrap();
    sender.send_to(&vec![0; length], to).unwrap();
    receiver.recv(&mut [0; LARGE]).is_ok_and(|received| received == length)
}

#[test]
fn nothing_comes_to_a_tunnel_but_what_another_node_sends_there() {
    isolated("forged tunnels", async || {
        let cabling = Cabling::new().await;
        firewall::apply_at_start(&host_rules(&config())).await.unwrap();
        sh(SERVICES);
        let (pod, node, peer) = (cabling.bridge.netns(), Netns::current().unwrap(), cabling.client.netns());
        for (from, to, at, port, expected) in [
            (&pod, "172.18.0.2:6081", &peer, 6081, false),
            (&pod, "172.18.0.2:6082", &peer, 6082, true),
            (&pod, "172.18.0.11:6081", &node, 6081, false),
            (&pod, "10.11.0.1:6081", &node, 6081, false),
            (&pod, "10.11.0.1:6082", &node, 6082, true),
            (&pod, "[fd00:18::2]:6081", &peer, 6081, false),
            (&pod, "[fd00:18::2]:6082", &peer, 6082, true),
            (&pod, "[fd00:18::11]:6081", &node, 6081, false),
            (&pod, "10.96.0.99:1001", &peer, 6081, false),
            (&pod, "10.96.0.99:1002", &peer, 6082, true),
            (&pod, "172.18.0.11:1003", &node, 6081, false),
            (&peer, "172.18.0.11:1003", &node, 6081, false),
            (&peer, "172.18.0.11:1004", &pod, 6081, true),
            (&node, "10.11.0.7:6081", &pod, 6081, true),
            (&node, "172.18.0.2:6081", &peer, 6081, true),
            (&peer, "172.18.0.11:6081", &node, 6081, true),
        ] {
            for length in [100, LARGE] {
                let arrived = arrives(from, to, at, port, length).await;
                assert_eq!(
                    arrived,
                    expected,
                    "{length} bytes from {from:?} to {to}\n{}",
                    sh("iptables-save -c")
                );
            }
        }
    });
}
