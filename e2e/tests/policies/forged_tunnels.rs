//! A Pod that packs packets itself as Nodes do for each other, in the name of somebody whom a policy admits: it only needs a
//! socket of UDP for that.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::Duration;

use antrea_types::{GLOBAL_VIRTUAL_MAC, IpFamily};
use anyhow::{Context, Result, bail, ensure};

use super::stage::{Stage, on_the_stage};
use crate::services::network::Network;

/// The port of Geneve, which the lab's tunnels are, and the one beside it.
const TUNNEL: u16 = 6081;
const BESIDE: u16 = 6082;

/// Where the Pod listens that is spoken to.
const PORT: u16 = 9998;

/// UDP may be lost: all is sent that often.
const TRIES: u32 = 3;

/// When it is quiet.
const QUIET: Duration = Duration::from_millis(300);

const ONLY_FROM_B: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: only-from-b, namespace: x}
spec:
  podSelector: {matchLabels: {app: x-a}}
  policyTypes: [Ingress]
  ingress: [{from: [{podSelector: {matchLabels: {app: x-b}}}]}]";

#[test]
fn a_pod_cannot_speak_in_the_name_of_another_one_through_the_tunnel_of_a_node() {
    let name = "a_pod_cannot_speak_in_the_name_of_another_one_through_the_tunnel_of_a_node";
    on_the_stage(name, |stage| {
        stage.apply(ONLY_FROM_B)?;
        stage.ensure(
            "x-b -> x-a udp/8080: allowed
             z-b -> x-a udp/8080: denied",
        )?;
        let at_pod = listen(stage.network("x-a")?, PORT)?;
        let at_node = listen(stage.network("here")?, BESIDE)?;
        let [mut by_pod, mut by_node] = [BTreeSet::new(), BTreeSet::new()];
        for _ in 0..TRIES {
            send_all(stage)?;
            by_pod.extend(heard(&at_pod));
            by_node.extend(heard(&at_node));
        }
        let of = |who| IpFamily::ALL.map(|family| text(who, family)).into();
        ensure!(by_pod == of("a Node"), "by the Pod was heard {by_pod:?}");
        ensure!(by_node == of("a Pod"), "at the port beside was heard {by_node:?}");
        Ok(())
    });
}

/// To the first Node, from a Pod of the other one and, as its tunnel does, from that one itself. The Pod reaches the port beside.
fn send_all(stage: &Stage<'_>) -> Result<()> {
    let node = stage.services.cluster.lab.plan().node(stage.services.here.node)?;
    for family in IpFamily::ALL {
        // Open vSwitch has this interface, and takes its packets for those of the tunnel.
        let node = node.transport_ips.get(family).context("a Node without the family")?;
        for (from, who) in [("z-b", "a Pod"), ("there", "a Node")] {
            send(stage.network(from)?, *node, TUNNEL, &packed(stage, text(who, family).as_bytes())?)?;
        }
        send(stage.network("z-b")?, *node, BESIDE, text("a Pod", family).as_bytes())?;
    }
    Ok(())
}

fn text(who: &str, family: IpFamily) -> String {
    format!("{who} over {family}")
}

fn listen(at: &Network, port: u16) -> Result<UdpSocket> {
    at.within(|| {
        let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port)).context("no socket")?;
        socket.set_read_timeout(Some(QUIET)).context("no timeout")?;
        Ok(socket)
    })
}

fn send(from: &Network, to: IpAddr, port: u16, bytes: &[u8]) -> Result<()> {
    from.within(|| {
        let any = if to.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
        let socket = UdpSocket::bind(any).context("no socket")?;
        socket.send_to(bytes, (to, port)).map(drop).with_context(|| format!("no way to {to}"))
    })
}

/// What comes until it is quiet.
fn heard(socket: &UdpSocket) -> BTreeSet<String> {
    let (mut heard, mut buffer) = (BTreeSet::new(), [0; 64]);
    while let Ok((length, _)) = socket.recv_from(&mut buffer) {
        heard.insert(String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned());
    }
    heard
}

/// A datagram from Pod `x-b` to `x-a` as its Node would pack it (RFC 8926).
fn packed(stage: &Stage<'_>, data: &[u8]) -> Result<Vec<u8>> {
    const GENEVE: [u8; 8] = [0, 0, 0x65, 0x58, 0, 0, 0, 0];
    const IPV4: [u8; 2] = [0x08, 0x00];
    let address = |pod| match stage.pod(pod)?.ip(IpFamily::V4)? {
        IpAddr::V4(address) => Ok(address),
        IpAddr::V6(address) => bail!("{address} is not IPv4"),
    };
    let destination = GLOBAL_VIRTUAL_MAC.octets();
    let source = [0x0a, 0, 0, 0, 0, 1];
    let packet = datagram(address("x-b")?, address("x-a")?, data)?;
    Ok([&GENEVE[..], &destination, &source, &IPV4, &packet].concat())
}

/// Without a checksum of UDP, which IPv4 lets be.
fn datagram(from: Ipv4Addr, to: Ipv4Addr, data: &[u8]) -> Result<Vec<u8>> {
    let length = u16::try_from(data.len() + 8)?;
    let udp = [PORT, PORT, length, 0].map(u16::to_be_bytes).concat();
    let head = |checksum: u16| {
        let words = [0x4500, length + 20, 0, 0, 0x4011, checksum].map(u16::to_be_bytes).concat();
        [&words[..], &from.octets(), &to.octets()].concat()
    };
    let words =
        head(0).chunks(2).map(|word| word.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))).sum();
    Ok([head(complement(words)), udp, data.to_vec()].concat())
}

/// The checksum of words with this sum (RFC 1071).
fn complement(sum: u32) -> u16 {
    let [_, _, high, low] = (sum % 0xffff).to_be_bytes();
    !u16::from_be_bytes([high, low])
}
