//! Connections that are open when policies change: as with upstream's agent, what was admitted goes on.

use std::net::UdpSocket;
use std::time::Duration;

use antrea_types::Protocol;
use anyhow::{Context, Result, ensure};

use super::stage::on_the_stage;
use crate::services::ask::{Answer, Target, ask_on};
use crate::services::network::Network;
use crate::services::objects::targets_at;
use crate::services::talk::while_connected;

#[test]
fn connections_that_were_admitted_go_on_when_a_policy_denies_new_ones() {
    on_the_stage("connections_that_were_admitted_go_on_when_a_policy_denies_new_ones", |stage| {
        let targets = targets_at(&stage.pod("x-a")?.ips, antrea_e2e::pods::PORT);
        let from = [stage.network("x-b")?, stage.network("z-a")?];
        let ways = |protocol| {
            let ways = targets.iter().filter(move |target| target.protocol == protocol);
            ways.flat_map(move |target| from.map(|from| (from, *target))).collect::<Vec<(&Network, Target)>>()
        };
        let sockets =
            ways(Protocol::Udp).into_iter().map(|(from, target)| Ok((target, socket(from, target)?)));
        let sockets = sockets.collect::<Result<Vec<_>>>()?;
        while_connected(&ways(Protocol::Tcp), || {
            stage.apply(
                "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: default-deny, namespace: x}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}",
            )?;
            stage.ensure(
                "x-b z-a -> x-a tcp/8080 udp/8080: denied
                 x-b -> z-a tcp/8080 udp/8080: denied",
            )?;
            sockets.iter().try_for_each(|(target, socket)| ensure_answered(*target, socket))
        })
    });
}

/// A client that policies deny and that goes on asking from the same port is answered as soon as it is admitted.
#[test]
fn a_udp_client_that_was_denied_is_answered_on_the_same_socket_once_it_is_admitted() {
    on_the_stage(
        "a_udp_client_that_was_denied_is_answered_on_the_same_socket_once_it_is_admitted",
        |stage| {
            stage.apply(
                "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: default-deny, namespace: x}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}",
            )?;
            stage.ensure("z-b -> x-a udp/8080: denied")?;
            let from = stage.network("z-b")?;
            let mut sockets = Vec::new();
            for ip in stage.pod("x-a")?.ips.iter() {
                let target = Target::udp(*ip, antrea_e2e::pods::PORT);
                let socket = open(from, target)?;
                socket.send(b"hostname").context("nothing can be sent")?;
                sockets.push((target, socket));
            }
            stage.delete_policy("x", "default-deny")?;
            stage.ensure("z-b -> x-a udp/8080: allowed")?;
            sockets.iter().try_for_each(|(target, socket)| ensure_answered(*target, socket))
        },
    );
}

/// One that has been answered.
fn socket(from: &Network, target: Target) -> Result<UdpSocket> {
    let socket = open(from, target)?;
    ensure_answered(target, &socket)?;
    Ok(socket)
}

fn open(from: &Network, target: Target) -> Result<UdpSocket> {
    let any = if target.address.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
    from.within(|| {
        let socket = UdpSocket::bind(any).context("no socket")?;
        socket.connect(target.address).with_context(|| format!("no way to {target}"))?;
        socket.set_read_timeout(Some(Duration::from_secs(1))).context("no timeout")?;
        Ok(socket)
    })
}

fn ensure_answered(target: Target, socket: &UdpSocket) -> Result<()> {
    let answer = ask_on(socket, "hostname").with_context(|| format!("no answer from {target}"))?;
    ensure!(matches!(answer, Answer::Said(_)), "{target} says {answer}");
    Ok(())
}
