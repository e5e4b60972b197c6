//! Connections of a Pod that is gone, in a real Open vSwitch: all of them are forgotten, and no others.

use std::net::{IpAddr, Ipv6Addr};

use antrea_config::DatapathType;
use antrea_ovs::openflow::Connection;
use antrea_ovs::testing::{OvsProcess, why_unavailable};
use antrea_ovs::{Datapath, Round, ovsdb};
use tokio::task::JoinHandle;

use super::*;

const BRIDGE: &str = "br-int";

/// The datagram of a client, whose port is the connection's name.
fn datagram(from: &str, to: &str, port: u16) -> String {
    let mut payload = [port.to_be_bytes(), [0, 53], [0, 8], [0, 0]].concat();
    let mut frame = vec![0x0a, 0, 0, 0, 0, 1, 0x0a, 0, 0, 0, 0, 2];
    match [from, to].map(|text| text.parse().unwrap()) {
        [IpAddr::V4(source), IpAddr::V4(destination)] => {
            let mut header = vec![0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0];
            header.extend([source.octets(), destination.octets()].concat());
            let sum = checksum(&header);
            header[10..12].copy_from_slice(&sum);
            // Over IPv4 a checksum of zero says nothing.
            frame.extend([vec![0x08, 0x00], header].concat());
        }
        [IpAddr::V6(source), IpAddr::V6(destination)] => {
            let addresses = [source.octets(), destination.octets()].concat();
            let sum = checksum(&[&addresses[..], &[0, 17, 0, 8], &payload].concat());
            payload[6..].copy_from_slice(&sum);
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 17, 64]);
            frame.extend(addresses);
        }
        _ => panic!("two families"),
    }
    frame.extend(payload);
    hexadecimal(&frame)
}

/// An echo request over IPv6 (RFC 4443).
fn echo_request(from: &str, to: &str, identifier: u16) -> String {
    let [source, destination] = [from, to].map(|text| text.parse::<Ipv6Addr>().unwrap().octets());
    let addresses = [source, destination].concat();
    let mut message = [[128, 0, 0, 0], [0, 0, 0, 1]].concat();
    message[4..6].copy_from_slice(&identifier.to_be_bytes());
    let sum = checksum(&[&addresses[..], &[0, 58, 0, 8], &message].concat());
    message[2..4].copy_from_slice(&sum);
    let mut frame = vec![0x0a, 0, 0, 0, 0, 1, 0x0a, 0, 0, 0, 0, 2];
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 58, 64]);
    frame.extend([addresses, message].concat());
    hexadecimal(&frame)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let sum: u32 = bytes.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    (!u16::try_from((folded & 0xffff) + (folded >> 16)).unwrap()).to_be_bytes()
}

struct Node {
    ovs: OvsProcess,
    former: FormerPods,
    round: watch::Sender<RoundState>,
    _task: JoinHandle<Result<()>>,
}

impl Node {
    /// With an agent that forgets; none where there cannot be one, and the test is skipped.
    async fn start(test: &str, round: RoundState) -> Option<Self> {
        if let Some(reason) = why_unavailable() {
            println!("SKIPPED {test}: {reason}");
            return None;
        }
        let ovs = OvsProcess::start().unwrap();
        let bridge =
            format!("add-br {BRIDGE} -- set bridge {BRIDGE} datapath_type=netdev protocols=OpenFlow15");
        ovs.vsctl(bridge.split_whitespace()).unwrap();
        let (connection, _) = Connection::open(ovs.management_socket(BRIDGE));
        let (former, requests) = FormerPods::queue(Echoes::RunOut(Duration::ZERO));
        let round = watch::Sender::new(round);
        let forgetting = Forgetting {
            requests,
            switch: Switch::new(connection, Round(1), Vec::new()),
            datapath: Datapath::new(ovs.directory().to_owned(), ovsdb::DatapathType::Netdev),
            round: round.subscribe(),
        };
        let _task = tokio::spawn(forgetting.run(CancellationToken::new()));
        Some(Self { ovs, former, round, _task })
    }

    /// Makes a connection in a zone, translated as `more` says.
    fn connect(&self, port: u16, from: &str, to: &str, zone: u16, more: &str) {
        self.track(&datagram(from, to, port), zone, more);
    }

    fn track(&self, packet: &str, zone: u16, more: &str) {
        let text = format!("in_port=LOCAL,packet={packet},actions=ct(commit,zone={zone}{more})");
        self.ovs.ofctl(["packet-out", BRIDGE, &text]).unwrap();
    }

    /// For how long the connections of echoes are known.
    fn echoes(&self) -> Vec<Duration> {
        let text = self.ovs.appctl(["dpctl/dump-conntrack", "-s"]).unwrap();
        let seconds = |line: &str| line.split("timeout=").nth(1)?.split(',').next()?.parse().ok();
        let echoes = text.lines().filter(|line| line.contains("icmpv6"));
        echoes.map(|line| Duration::from_secs(seconds(line).unwrap())).collect()
    }

    /// The client's ports of the connections that are known.
    fn connections(&self) -> Vec<u16> {
        let text = self.ovs.appctl(["dpctl/dump-conntrack"]).unwrap();
        let port = |line: &str| line.split("sport=").nth(1)?.split(',').next()?.parse().ok();
        let mut ports: Vec<u16> = text.lines().filter_map(port).collect();
        ports.sort_unstable();
        ports
    }

    fn of_both_families(&self) {
        for (first, client, pod, service, zone) in [
            (1, "10.10.1.10", "10.10.0.10", "10.96.0.1", 65520),
            (11, "fd00:10:1::a", "fd00:10::a", "fd00:96::1", 65510),
        ] {
            let other = if first == 1 { "10.10.0.11" } else { "fd00:10::b" };
            self.connect(first, client, pod, zone, "");
            self.connect(first + 1, pod, client, zone, "");
            self.connect(first + 2, client, service, zone, &format!(",nat(dst={})", bracketed(pod)));
            self.connect(first + 3, client, pod, zone + 1, &format!(",nat(src={})", bracketed(other)));
            self.connect(first + 4, client, other, zone, "");
            self.connect(first + 5, client, service, zone, &format!(",nat(dst={})", bracketed(other)));
            // Somebody else's zone.
            self.connect(first + 6, client, pod, 7, "");
        }
    }
}

fn bracketed(address: &str) -> String {
    if address.contains(':') { format!("[{address}]") } else { address.to_owned() }
}

#[tokio::test]
async fn all_connections_of_a_pod_that_is_gone_are_forgotten_and_no_others() {
    let test = "all_connections_of_a_pod_that_is_gone_are_forgotten_and_no_others";
    let Some(node) = Node::start(test, RoundState::Finished).await else { return };
    node.of_both_families();
    assert_eq!(node.connections(), (1..=7).chain(11..=17).collect::<Vec<_>>());
    let addresses = ["10.10.0.10", "fd00:10::a"].map(|text| text.parse().unwrap()).to_vec();
    node.former.forget(addresses).await.unwrap();
    assert_eq!(node.connections(), [5, 6, 7, 15, 16, 17]);
}

#[tokio::test]
async fn nothing_is_forgotten_before_the_flows_of_earlier_agents_are_gone() {
    let test = "nothing_is_forgotten_before_the_flows_of_earlier_agents_are_gone";
    let Some(node) = Node::start(test, RoundState::Begun).await else { return };
    node.connect(1, "10.10.1.10", "10.10.0.10", 65520, "");
    let mut forgotten = Box::pin(node.former.forget(vec!["10.10.0.10".parse().unwrap()]));
    assert!(tokio::time::timeout(Duration::from_secs(2), &mut forgotten).await.is_err());
    node.round.send_replace(RoundState::Finished);
    forgotten.await.unwrap();
    assert_eq!(node.connections(), Vec::<u16>::new());
}

#[tokio::test]
async fn pods_that_go_at_once_are_forgotten_together() {
    let test = "pods_that_go_at_once_are_forgotten_together";
    let Some(node) = Node::start(test, RoundState::Finished).await else { return };
    let addresses = (10..70).map(|host| format!("10.10.0.{host}").parse::<IpAddr>().unwrap());
    let begun = std::time::Instant::now();
    futures::future::try_join_all(addresses.map(|address| node.former.forget(vec![address]))).await.unwrap();
    println!("60 Pods were forgotten after {:?}", begun.elapsed());
}

#[tokio::test]
async fn echoes_over_ipv6_are_left_to_run_out_and_all_else_is_forgotten() {
    let test = "echoes_over_ipv6_are_left_to_run_out_and_all_else_is_forgotten";
    let Some(node) = Node::start(test, RoundState::Finished).await else { return };
    let (pod, peer) = ("fd00:10::a", "fd00:10:1::a");
    node.connect(1, peer, pod, 65510, "");
    node.track(&echo_request(pod, peer, 1), 65510, "");
    node.track(&echo_request(peer, pod, 2), 65510, "");
    assert_eq!((node.connections(), node.echoes().len()), (vec![1], 2));
    node.former.forget(vec![pod.parse().unwrap()]).await.unwrap();
    assert_eq!((node.connections(), node.echoes().len()), (vec![], 2));
    assert!(node.echoes().iter().all(|rest| *rest < Echoes::LONGEST), "{:?}", node.echoes());
}

#[test]
fn only_addresses_whose_echoes_run_out_are_closed() {
    let addresses = ["10.10.0.10", "fd00:10::a"].map(|text| text.parse::<IpAddr>().unwrap());
    let [_, v6] = addresses;
    for (datapath, expected) in [(DatapathType::System, vec![]), (DatapathType::Netdev, vec![v6])] {
        let (former, _requests) = FormerPods::queue(Echoes::of(datapath));
        assert_eq!(former.to_close(&addresses).collect::<Vec<_>>(), expected, "{datapath:?}");
    }
}
