//! Pods that send from their first moment on: nobody takes one for another that had its address, or for nobody's.

use std::io::ErrorKind;
use std::net::{Ipv6Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use antrea_e2e::wait;
use antrea_types::IpFamily;
use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::stage::{Stage, namespace_of, on_the_stage, pod};
use crate::services::peers::Peer;
use crate::traces::GIVEN_BACK;

/// Where host-local keeps who has which address, a file each, and which one it gave last.
const FILES: &str = "/run/antrea/cni/networks/antrea";

const PORT: u16 = 9999;

/// The first Pod is admitted, the second is not, and sends to both addresses of the server from the moment it runs.
#[test]
fn a_pod_that_gets_the_address_of_a_deleted_one_does_not_get_what_that_was_admitted_to() {
    let name = "a_pod_that_gets_the_address_of_a_deleted_one_does_not_get_what_that_was_admitted_to";
    on_the_stage(name, |stage| {
        stage.apply(
            "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: from-friends, namespace: x}
spec:
  podSelector: {matchLabels: {app: x-a}}
  ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {role: friend}}}]}]",
        )?;
        let server = stage.pod("x-a")?;
        let receiver = receiver(server)?;
        start(stage, "z-friend", "friend", server)?;
        let friend = stage.wait_for_pod("z-friend")?;
        let mut buffer = [0; 16];
        wait::until(Duration::from_secs(30), "the first Pod to be heard", || {
            Ok(receiver.recv_from(&mut buffer).is_ok())
        })?;
        let (stranger, heard) = while_listening(&receiver, || replace(stage, &friend, server))?;
        ensure!(heard == 0, "{heard} packets of the second Pod arrived");
        ensure!(stranger.ips.v4 == friend.ips.v4, "the second Pod has another address than the first had");
        stage.ensure("z-b x-b -> x-a tcp/8080: denied")?;
        stage.delete_pod("z-stranger")
    });
}

#[test]
fn a_new_pod_of_an_isolated_namespace_sends_nothing_from_its_first_moment_on() {
    on_the_stage("a_new_pod_of_an_isolated_namespace_sends_nothing_from_its_first_moment_on", |stage| {
        stage.apply(
            "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: silent, namespace: x}
spec: {podSelector: {}, policyTypes: [Egress]}",
        )?;
        stage.ensure("x-b -> z-a udp/8080: denied")?;
        let server = stage.pod("z-a")?;
        let receiver = receiver(server)?;
        let (_, heard) = while_listening(&receiver, || {
            start(stage, "x-stranger", "stranger", server)?;
            stage.wait_for_pod("x-stranger")
        })?;
        ensure!(heard == 0, "{heard} packets of the new Pod arrived");
        stage.delete_pod("x-stranger")
    });
}

fn receiver(server: &Peer) -> Result<UdpSocket> {
    server.network.within(|| {
        let receiver = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, PORT)).context("no receiver")?;
        receiver.set_read_timeout(Some(Duration::from_millis(300))).context("no timeout")?;
        Ok(receiver)
    })
}

/// Does `work`, and counts the packets of strangers that come meanwhile.
fn while_listening<T>(receiver: &UdpSocket, work: impl FnOnce() -> Result<T>) -> Result<(T, usize)> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let heard = scope.spawn(|| strangers(receiver, &over));
        let result = work();
        over.store(true, Ordering::Relaxed);
        let heard = heard.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause));
        Ok((result?, heard?))
    })
}

/// Deletes the first Pod and makes the second one, which gets its IPv4 address; it is ready when this returns, and has sent for some time.
fn replace(stage: &Stage<'_>, friend: &Peer, server: &Peer) -> Result<Peer> {
    vacate(stage, friend, &[IpFamily::V4])?;
    start(stage, "z-stranger", "stranger", server)?;
    stage.wait_for_pod("z-stranger")
}

/// Deletes a Pod of the last Node. The next one there gets its addresses; those of these families are free when this returns.
pub(super) fn vacate(stage: &Stage<'_>, friend: &Peer, families: &[IpFamily]) -> Result<()> {
    let (cluster, node) = (&stage.services.cluster, stage.services.there.node);
    let namespace = namespace_of(&friend.name);
    let path = format!("/api/v1/namespaces/{namespace}/pods/{}?gracePeriodSeconds=1", friend.name);
    stage.api().delete_at(&path)?;
    for family in families {
        let file = format!("{FILES}/{}", friend.ip(*family)?);
        wait::closely(GIVEN_BACK, "the address to be free", || {
            Ok(cluster.on_node(node, &["ls", &file]).is_err().then_some(()))
        })?;
    }
    give_next(stage, friend)
}

/// When the addresses of a Pod of the last Node were given to it.
pub(super) fn given(stage: &Stage<'_>, pod: &Peer) -> Result<SystemTime> {
    let ip = pod.ips.iter().next().context("a Pod without address")?;
    let file = format!("{FILES}/{ip}");
    let text = stage.services.cluster.on_node(stage.services.there.node, &["stat", "-c", "%.9Y", &file])?;
    let seconds = text.trim().parse().with_context(|| format!("{file} was written at {text:?}"))?;
    Ok(SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds))
}

/// host-local goes on after the address that it gave last.
fn give_next(stage: &Stage<'_>, friend: &Peer) -> Result<()> {
    let before = friend.ips.iter().map(|ip| match ip {
        std::net::IpAddr::V4(ip) => std::net::Ipv4Addr::from_bits(ip.to_bits() - 1).to_string(),
        std::net::IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() - 1).to_string(),
    });
    for (number, address) in before.enumerate() {
        let script = format!("printf %s {address} > {FILES}/last_reserved_ip.{number}");
        stage.services.cluster.on_node(stage.services.there.node, &["bash", "-c", &script])?;
    }
    Ok(())
}

/// A Pod on the last Node that serves as others do, and sends its role to the server all the time.
fn start(stage: &Stage<'_>, name: &str, role: &str, server: &Peer) -> Result<()> {
    let mut manifest = pod(namespace_of(name), name, role, stage.services.there.node);
    let sends: String = server.ips.iter().map(|ip| format!("echo {role} > /dev/udp/{ip}/{PORT}; ")).collect();
    // A millisecond, without a process for it.
    let script = format!("exec 3<> <(:); while :; do {sends} read -r -t 0.001 -u 3; done 2>/dev/null");
    let sender = json!({
        "name": "sender",
        "image": manifest["spec"]["containers"][0]["image"],
        "imagePullPolicy": "IfNotPresent",
        "command": ["bash", "-c", script],
    });
    let containers = manifest["spec"]["containers"].as_array_mut().context("a Pod without containers")?;
    containers.insert(0, sender);
    stage.api().apply(&manifest).map(drop)
}

/// How many packets of the second Pod come until the end.
fn strangers(receiver: &UdpSocket, over: &AtomicBool) -> Result<usize> {
    let (mut count, mut buffer) = (0, [0; 16]);
    loop {
        let ending = over.load(Ordering::Relaxed);
        match receiver.recv_from(&mut buffer) {
            Ok((length, _)) => {
                count += usize::from(buffer.get(..length).is_some_and(|text| text.starts_with(b"stranger")));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && ending => return Ok(count),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error).context("the receiver broke"),
        }
    }
}
