//! A Pod that packs packets itself as Nodes do for each other, in the name of somebody whom a policy admits: it only needs a
//! socket of UDP for that.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::time::Duration;

use antrea_e2e::geneve;
use antrea_types::IpFamily;
use anyhow::{Context, Result, ensure};

use super::stage::{Stage, on_the_stage};
use crate::services::network::Network;

/// The port beside that of Geneve, which the lab's tunnels are.
const BESIDE: u16 = geneve::PORT + 1;

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
            let packed = packed(stage, family, text(who, family).as_bytes())?;
            send(stage.network(from)?, *node, geneve::PORT, &packed)?;
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

/// A datagram from Pod `x-b` to `x-a` as its Node would pack it: IPv6 goes over IPv6.
fn packed(stage: &Stage<'_>, family: IpFamily, data: &[u8]) -> Result<Vec<u8>> {
    let address = |pod| stage.pod(pod)?.ip(family);
    geneve::packed([address("x-b")?, address("x-a")?], PORT, data)
}
