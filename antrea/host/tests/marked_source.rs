//! The source MAC that stands for the mark of what a Node itself sends.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use antrea_host::{Netlink, Outcome, drop_ingress, firewall, ingress_drops, remove_device_chains};
use antrea_hostplan::iptables::SourcePorts;
use antrea_hostplan::{ExternalMasquerade, HostConfig, HostPlan, MarkedSource, ServiceTraffic, host_rules};
use antrea_types::{DualStack, MacAddr};
use ipnet::IpNet;
use socket2::{Domain, Protocol, Socket, Type};

use crate::sandbox::{OtherNetns, isolated, sh, succeeds};

const TIMES_OUT: Duration = Duration::from_secs(10);
/// Between packets, of which a few hundred find room until they are looked at.
const PAUSE: Duration = Duration::from_micros(300);
const OWN_MAC: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x01]);
const NODE_MAC: MacAddr = MacAddr([0x02, 0x6d, 0x80, 0, 0, 0]);
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_ARP: [u8; 2] = [0x08, 0x06];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];

pub(crate) fn wanted() -> MarkedSource {
    MarkedSource::of_node("antrea-gw0".parse().unwrap(), NODE_MAC)
}

/// A Node whose gateway leads to `pods`.
struct Node {
    netlink: Netlink,
    pods: OtherNetns,
}

impl Node {
    async fn new() -> Self {
        let node = Self { netlink: Netlink::current().unwrap(), pods: OtherNetns::new() };
        node.connect("antrea-gw0", OWN_MAC, &node.pods).await;
        sh("ip address add 10.11.0.1/24 dev antrea-gw0; ip address add fd00:11::1/64 dev antrea-gw0 nodad");
        node.pods
            .sh("ip address add 10.11.0.2/24 dev eth0; ip address add fd00:11::2/64 dev eth0 nodad")
            .await;
        node
    }

    /// A veth pair: `name` on this Node, `eth0` there.
    async fn connect(&self, name: &str, mac: MacAddr, there: &OtherNetns) {
        let end =
            |name: &str, mac| antrea_host::netlink::VethEnd { name: name.parse().unwrap(), mac, mtu: 1500 };
        let veth = antrea_host::netlink::Veth {
            here: end(name, Some(mac)),
            peer: end("eth0", None),
            peer_netns: Some(there.netns()),
        };
        self.netlink.create_veth(&veth).await.unwrap();
        sh(&format!("ip link set {name} up"));
        there.sh("ip link set eth0 up").await;
    }

    async fn ensure(&self) -> Outcome {
        self.netlink.ensure_marked_source(&wanted()).await.unwrap()
    }

    async fn has(&self) -> bool {
        self.netlink.has_marked_source(&wanted()).await.unwrap()
    }

    /// Everything is as wanted again after somebody did this.
    async fn repairs(&self, line: &str) {
        sh(line);
        assert!(!self.has().await, "`{line}` is not noticed");
        assert_eq!(self.ensure().await, Outcome::Changed, "`{line}`");
        assert!(self.has().await, "`{line}` is not repaired");
        assert_eq!(self.ensure().await, Outcome::Unchanged, "`{line}`");
        let shown = sh("nft list table netdev antrea");
        assert_eq!(shown.matches("chain").count(), 1, "{shown}");
        assert_eq!(shown.matches("ether saddr set 02:6d:80:00:00:00").count(), 1, "{shown}");
    }
}

/// The rules that mark what the Node sends, and nothing that it forwards.
pub(crate) fn marking() -> HostPlan {
    let cidrs: DualStack<IpNet> =
        ["10.11.0.0/24", "fd00:11::/64"].map(|text| text.parse::<IpNet>().unwrap()).into_iter().collect();
    host_rules(&HostConfig {
        gateway: "antrea-gw0".parse().unwrap(),
        own_pod_cidrs: cidrs,
        pod_cidrs: cidrs.iter().copied().collect(),
        tunnel: None,
        far_ends: [].into(),
        agent_api_port: 10350,
        membership_port: None,
        external_masquerade: ExternalMasquerade::On(SourcePorts::Kept),
        services: ServiceTraffic::ByHost,
    })
}

/// Frames that arrive in a namespace, from now on.
struct Frames(Socket);

impl Frames {
    async fn of(there: &OtherNetns) -> Self {
        let open = || {
            let every_protocol = i32::from(3_u16.to_be());
            let socket =
                Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(every_protocol))).unwrap();
            socket.set_read_timeout(Some(TIMES_OUT)).unwrap();
            socket
        };
        Self(there.netns().run(open).await.unwrap())
    }

    /// The source MAC of the next frame that is one looked for.
    fn source(&mut self, looked_for: impl Fn(&[u8]) -> bool) -> MacAddr {
        let mut frame = [0; 2048];
        loop {
            let length = match self.0.read(&mut frame) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.unwrap(),
            };
            if looked_for(&frame[..length]) {
                return MacAddr(*frame[6..].first_chunk().unwrap());
            }
        }
    }
}

fn is_to(frame: &[u8], address: SocketAddr, protocol: u8) -> bool {
    let port = address.port().to_be_bytes();
    match address {
        SocketAddr::V4(to) => {
            frame[12..14] == ETHERTYPE_IPV4
                && frame[23] == protocol
                && frame[30..34] == to.ip().octets()
                && frame[36..38] == port
        }
        SocketAddr::V6(to) => {
            frame[12..14] == ETHERTYPE_IPV6
                && frame[20] == protocol
                && frame[38..54] == to.ip().octets()
                && frame[56..58] == port
        }
    }
}

pub(crate) fn send_udp(address: SocketAddr) {
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    UdpSocket::bind(any).unwrap().send_to(b"antrea", address).unwrap();
}

/// Nobody listens there: that it is refused shows that it arrived.
fn connect_tcp(address: SocketAddr) {
    let refused = TcpStream::connect_timeout(&address, TIMES_OUT).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused, "{address}");
}

pub(crate) const ENDPOINTS: [&str; 2] = ["10.11.0.2:8080", "[fd00:11::2]:8080"];
const SEND: [(u8, fn(SocketAddr)); 2] = [(6, connect_tcp), (17, send_udp)];

#[test]
fn what_the_node_sends_has_the_mac_and_what_it_forwards_its_own() {
    isolated("marked source", async || {
        let (node, client) = (Node::new().await, OtherNetns::new());
        node.connect("eth1", MacAddr([0x02, 0, 0, 0, 0, 0x02]), &client).await;
        sh("ip address add 192.0.2.1/24 dev eth1; ip address add fd00:2::1/64 dev eth1 nodad");
        client
            .sh("ip address add 192.0.2.2/24 dev eth0; ip address add fd00:2::2/64 dev eth0 nodad; \
                 ip route add default via 192.0.2.1; ip -6 route add default via fd00:2::1")
            .await;
        firewall::apply_at_start(&marking()).await.unwrap();
        // As kube-proxy does with clients of a NodePort: only the MAC tells them from the Node.
        sh("iptables -t nat -A POSTROUTING -s 192.0.2.2 -j MASQUERADE; \
            ip6tables -t nat -A POSTROUTING -s fd00:2::2 -j MASQUERADE");
        assert_eq!(node.ensure().await, Outcome::Changed);
        let mut frames = Frames::of(&node.pods).await;
        for endpoint in ENDPOINTS {
            let address: SocketAddr = endpoint.parse().unwrap();
            for (protocol, send) in SEND {
                let mut source = || frames.source(|frame| is_to(frame, address, protocol));
                send(address);
                assert_eq!(source(), NODE_MAC, "{endpoint} {protocol} of the Node");
                client.netns().run(move || send(address)).await.unwrap();
                assert_eq!(source(), OWN_MAC, "{endpoint} {protocol} of a client");
            }
        }
        node.netlink.remove_marked_sources().await.unwrap();
        let address: SocketAddr = ENDPOINTS[0].parse().unwrap();
        send_udp(address);
        assert_eq!(frames.source(|frame| is_to(frame, address, 17)), OWN_MAC);
    });
}

/// Of IPv4 the kernel forwards no such packet.
#[test]
fn what_comes_from_outside_with_an_address_of_the_node_is_not_the_nodes() {
    isolated("marked source", async || {
        let (node, client) = (Node::new().await, OtherNetns::new());
        node.connect("eth1", MacAddr([0x02, 0, 0, 0, 0, 0x02]), &client).await;
        sh("ip address add fd00:2::1/64 dev eth1 nodad; sysctl -qw net.ipv6.conf.all.forwarding=1");
        client
            .sh("ip address add fd00:2::2/64 dev eth0 nodad; ip address add fd00:11::1/128 dev lo nodad; \
                 ip -6 route add default via fd00:2::1")
            .await;
        firewall::apply_at_start(&marking()).await.unwrap();
        node.ensure().await;
        let mut frames = Frames::of(&node.pods).await;
        let address: SocketAddr = ENDPOINTS[1].parse().unwrap();
        client
            .netns()
            .run(move || UdpSocket::bind("[fd00:11::1]:0").unwrap().send_to(b"antrea", address).unwrap())
            .await
            .unwrap();
        assert_eq!(frames.source(|frame| is_to(frame, address, 17)), OWN_MAC);
        send_udp(address);
        assert_eq!(frames.source(|frame| is_to(frame, address, 17)), NODE_MAC);
    });
}

#[test]
fn address_resolution_keeps_the_mac_of_the_gateway() {
    isolated("marked source", async || {
        let node = Node::new().await;
        firewall::apply_at_start(&marking()).await.unwrap();
        node.ensure().await;
        let mut frames = Frames::of(&node.pods).await;
        send_udp(ENDPOINTS[0].parse().unwrap());
        assert_eq!(frames.source(|frame| frame[12..14] == ETHERTYPE_ARP), OWN_MAC);
        assert!(node.pods.succeeds("ping -c 1 -W 2 10.11.0.1 && ping -c 1 -W 2 fd00:11::1").await);
        assert!(node.pods.sh("ip neigh show 10.11.0.1").await.contains(&OWN_MAC.to_string()));
    });
}

#[test]
fn it_is_what_nft_makes_of_its_text() {
    isolated("marked source", async || {
        let node = Node::new().await;
        assert!(!node.has().await);
        sh(&format!("nft -f - <<END\ntable netdev antrea {{\n{}\n}}\nEND", wanted()));
        let by_nft = sh("nft list ruleset");
        assert_eq!(node.ensure().await, Outcome::Unchanged);
        assert_eq!(remove_device_chains().await.unwrap(), Outcome::Changed);
        assert_eq!(node.ensure().await, Outcome::Changed);
        assert_eq!(sh("nft list ruleset"), by_nft);
    });
}

#[test]
fn whatever_others_do_to_it_is_noticed_and_undone() {
    isolated("marked source", async || {
        let node = Node::new().await;
        node.ensure().await;
        node.repairs("nft delete table netdev antrea").await;
        node.repairs("nft flush chain netdev antrea egress-antrea-gw0").await;
        node.repairs("nft delete chain netdev antrea egress-antrea-gw0").await;
        node.repairs("nft insert rule netdev antrea egress-antrea-gw0 accept").await;
        node.repairs("nft add rule netdev antrea egress-antrea-gw0 ether saddr set 02:6d:80:00:00:00").await;
        // Chains that are not as they shall be, by that name and by another.
        let instead = |chain: &str| {
            format!(
                "nft delete table netdev antrea; nft add table netdev antrea; nft 'add chain netdev antrea {chain}'"
            )
        };
        let of_gateway = "type filter hook egress device antrea-gw0 priority";
        for chain in [
            "egress-antrea-gw0".to_owned(),
            format!("egress-antrea-gw0 {{ {of_gateway} 0; policy drop; }}"),
            format!("egress-antrea-gw0 {{ {of_gateway} 7; policy accept; }}"),
            "egress-antrea-gw0 { type filter hook ingress device antrea-gw0 priority 0; policy accept; }"
                .to_owned(),
            "egress-antrea-gw0 { type filter hook egress device lo priority 0; policy accept; }".to_owned(),
            format!("other {{ {of_gateway} 0; policy accept; }}"),
            "egress-eth0 { type filter hook egress device lo priority 0; policy accept; }".to_owned(),
        ] {
            node.repairs(&instead(&chain)).await;
        }
        for rule in [
            "meta mark & 0x40000000 != 0 ether saddr set 02:6d:80:00:00:00",
            "meta mark & 0x80000000 == 0 ether saddr set 02:6d:80:00:00:00",
            "meta mark & 0x80000000 != 0 ether daddr set 02:6d:80:00:00:00",
            "meta mark & 0x80000000 != 0 ether saddr set 02:6d:80:00:00:01",
            "meta mark & 0x80000000 != 0 counter ether saddr set 02:6d:80:00:00:00",
        ] {
            node.repairs(&format!(
                "nft flush chain netdev antrea egress-antrea-gw0; nft add rule netdev antrea egress-antrea-gw0 '{rule}'"
            ))
            .await;
        }
    });
}

#[test]
fn no_packet_goes_without_while_it_is_replaced() {
    isolated("marked source", async || {
        let node = Node::new().await;
        firewall::apply_at_start(&marking()).await.unwrap();
        let address: SocketAddr = ENDPOINTS[0].parse().unwrap();
        for name in ["egress-antrea-gw0", "other"] {
            // Works as well, but is not what is wanted.
            let chain =
                wanted().to_string().replace("egress-antrea-gw0", name).replace("priority 0", "priority 7");
            sh(&format!("nft -f - <<END\nflush ruleset netdev\ntable netdev antrea {{\n{chain}\n}}\nEND"));
            let mut frames = Frames::of(&node.pods).await;
            let (over, is_over) = mpsc::channel();
            let sending = std::thread::spawn(move || {
                let mut sent = 0;
                while is_over.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                    send_udp(address);
                    sent += 1;
                }
                sent
            });
            assert_eq!(node.ensure().await, Outcome::Changed);
            over.send(()).unwrap();
            for _ in 0..sending.join().unwrap() {
                assert_eq!(frames.source(|frame| is_to(frame, address, 17)), NODE_MAC, "replacing {name}");
            }
        }
    });
}

#[test]
fn chains_for_what_arrives_are_left_alone_and_all_go_together() {
    isolated("marked source", async || {
        let node = Node::new().await;
        assert_eq!(node.netlink.remove_marked_sources().await.unwrap(), Outcome::Unchanged);
        drop_ingress(&wanted().device).await.unwrap();
        node.ensure().await;
        assert_eq!(ingress_drops().await.unwrap(), [wanted().device]);
        assert_eq!(node.netlink.remove_marked_sources().await.unwrap(), Outcome::Changed);
        assert_eq!(node.netlink.remove_marked_sources().await.unwrap(), Outcome::Unchanged);
        assert_eq!(ingress_drops().await.unwrap(), [wanted().device]);
        node.ensure().await;
        assert_eq!(remove_device_chains().await.unwrap(), Outcome::Changed);
        assert_eq!(sh("nft list ruleset"), "");
    });
}

#[test]
fn a_gateway_that_is_made_again_gets_it_again() {
    isolated("marked source", async || {
        let node = Node::new().await;
        node.ensure().await;
        sh("ip link delete antrea-gw0");
        node.connect("antrea-gw0", OWN_MAC, &node.pods).await;
        sh("ip address add 10.11.0.1/24 dev antrea-gw0");
        node.pods.sh("ip address add 10.11.0.2/24 dev eth0").await;
        firewall::apply_at_start(&marking()).await.unwrap();
        // Kernels since 6.16 give it back by themselves.
        node.ensure().await;
        assert!(node.has().await);
        let (mut frames, address) = (Frames::of(&node.pods).await, ENDPOINTS[0].parse().unwrap());
        send_udp(address);
        assert_eq!(frames.source(|frame| is_to(frame, address, 17)), NODE_MAC);
    });
}

#[test]
fn a_device_that_does_not_exist_is_told() {
    isolated("marked source", async || {
        let node = Node::new().await;
        let wanted = MarkedSource { device: "eth9".parse().unwrap(), ..wanted() };
        // Kernels that take hooks of devices to come have it for this one.
        if let Err(error) = node.netlink.ensure_marked_source(&wanted).await {
            assert_eq!(
                error.to_string(),
                "cannot have eth9 send marked packets from 02:6d:80:00:00:00; the kernel needs nf_tables with the \
                 netdev family and its egress hook, which Linux has since 5.16"
            );
        }
        assert!(succeeds("ip link show antrea-gw0"));
    });
}
