//! What changes under traffic: no client meets what a Service was before.

use std::net::{SocketAddr, UdpSocket};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::ask::{self, Answer, Target};
use super::etcd;
use super::load_balancer::wait_for_event;
use super::network::Network;
use super::objects::{Endpoint, apply_slices, targets_at};
use super::peers::Peer;
use super::stage::{Stage, on_the_stage, with_antrea_proxy};
use super::talk::while_connecting;

#[test]
fn a_udp_client_with_one_socket_follows_its_service_to_another_endpoint() {
    on_the_stage("a_udp_client_with_one_socket_follows_its_service_to_another_endpoint", |stage| {
        let service = stage.service("udp-moves", &json!({ "type": "NodePort" }))?;
        let [a, _, c, _] = stage.servers;
        set_endpoint(stage, service.name()?, a)?;
        let inside = service.targets().into_iter().map(|target| (&stage.clients[0].network, target));
        let at_node =
            service.node_targets(&stage.here.ips)?.into_iter().map(|target| (&stage.outside, target));
        let udp = inside.chain(at_node).filter(|(_, target)| target.protocol == antrea_types::Protocol::Udp);
        let clients: Vec<(UdpSocket, Target)> = udp
            .map(|(from, target)| {
                stage.ensure_reaches(from, target, &[a])?;
                Ok((socket(from, target.address)?, target))
            })
            .collect::<Result<_>>()?;
        for server in [a, c, a] {
            set_endpoint(stage, service.name()?, server)?;
            for (client, target) in &clients {
                ensure_answered_by(stage, client, *target, server)?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_udp_client_that_was_refused_is_answered_as_soon_as_there_is_an_endpoint() {
    on_the_stage("a_udp_client_that_was_refused_is_answered_as_soon_as_there_is_an_endpoint", |stage| {
        let service = stage.service("udp-comes", &json!({}))?;
        let from = &stage.clients[1].network;
        let udp =
            service.targets().into_iter().filter(|target| target.protocol == antrea_types::Protocol::Udp);
        let clients: Vec<(UdpSocket, Target)> = udp
            .map(|target| {
                stage.ensure_refused(from, target)?;
                let client = socket(from, target.address)?;
                ask::ask_on(&client, "hostname").ok();
                Ok((client, target))
            })
            .collect::<Result<_>>()?;
        set_endpoint(stage, service.name()?, stage.servers[0])?;
        clients
            .iter()
            .try_for_each(|(client, target)| ensure_answered_by(stage, client, *target, stage.servers[0]))
    });
}

#[test]
fn a_port_that_a_service_no_longer_has_is_served_no_longer() {
    on_the_stage("a_port_that_a_service_no_longer_has_is_served_no_longer", |stage| {
        let spec = |port: u16| {
            let ports = json!([
                { "name": "tcp", "protocol": "TCP", "port": port, "targetPort": 8080 },
                { "name": "udp", "protocol": "UDP", "port": port, "targetPort": 8080 },
            ]);
            json!({ "selector": { "role": "server" }, "ports": ports })
        };
        let ips = stage.service("port-changes", &spec(80))?.ips();
        let (from, host) = (&stage.clients[0].network, &stage.here.network);
        let at = |port| targets_at(&ips, port);
        let pairs: Vec<_> = at(80).into_iter().map(|target| (from, target)).collect();
        for target in at(80) {
            stage.ensure_reaches(from, target, &stage.servers)?;
        }
        while_connecting(&pairs, || {
            stage.service("port-changes", &spec(90))?;
            for (client, (old, new)) in [from, host]
                .iter()
                .flat_map(|client| at(80).into_iter().zip(at(90)).map(move |targets| (client, targets)))
            {
                stage.ensure_reaches(client, new, &stage.servers)?;
                stage.ensure_nobody_answers(client, old)?;
            }
            Ok(())
        })
        .map(drop)
    });
}

#[test]
fn a_target_port_that_changes_is_followed_at_once() {
    on_the_stage("a_target_port_that_changes_is_followed_at_once", |stage| {
        let spec = |port: u16| {
            let ports = json!([{ "name": "tcp", "port": 80, "targetPort": port }]);
            json!({ "selector": { "app": stage.servers[0].name }, "ports": ports })
        };
        let from = &stage.clients[0].network;
        for (port, answers) in [(8081, true), (9, false), (8080, true)] {
            let service = stage.service("target-port-changes", &spec(port))?;
            for ip in service.ips().iter() {
                let target = Target::tcp(*ip, 80);
                match answers {
                    true => stage.ensure_reaches(from, target, &[stage.servers[0]])?,
                    false => stage.ensure_refused(from, target)?,
                }
            }
        }
        Ok(())
    });
}

#[test]
fn a_service_that_is_made_again_with_the_same_address_leads_to_its_new_endpoints() {
    let name = "a_service_that_is_made_again_with_the_same_address_leads_to_its_new_endpoints";
    on_the_stage(name, |stage| {
        let [a, b, c, d] = stage.servers;
        let mut service = stage.service("again", &selecting(a, &Value::Null))?;
        let (ips, targets) = (service.object["spec"]["clusterIPs"].clone(), service.targets());
        let from = [&stage.clients[0].network, &stage.here.network];
        let reach = |server: &Peer| {
            let pairs = from.iter().flat_map(|from| targets.iter().map(move |target| (from, target)));
            pairs.into_iter().try_for_each(|(from, target)| stage.ensure_reaches(from, *target, &[server]))
        };
        reach(a)?;
        // Whether or not the proxy sees that it was gone.
        for (name, server) in [("again", c), ("other-name", b), ("again", d)] {
            stage.api.delete(&service.object)?;
            service = stage.service(name, &selecting(server, &ips))?;
            reach(server)?;
        }
        stage.api.delete(&service.object)?;
        from.iter().try_for_each(|from| stage.ensure_nobody_answers(from, targets[0]))?;
        stage.service("again", &selecting(a, &ips))?;
        reach(a)
    });
}

/// The API server refuses such addresses. Should one get past it, as when somebody writes to its database, then nobody
/// reaches what listens on a Node alone.
#[test]
fn endpoints_that_are_loopback_or_link_local_are_ignored_with_an_event() {
    with_antrea_proxy("endpoints_that_are_loopback_or_link_local_are_ignored_with_an_event", |stage| {
        let service = stage.service("special", &json!({}))?;
        let server = stage.servers[0];
        set_endpoint(stage, service.name()?, server)?;
        etcd::add_endpoints(stage, service.name()?, "bad", &["127.0.0.1", "169.254.169.254"])?;
        let from = &stage.clients[0].network;
        wait_for_event(stage, "special", "127.0.0.1")?;
        wait_for_event(stage, "special", "169.254.169.254")?;
        service.targets().into_iter().try_for_each(|target| stage.ensure_reaches(from, target, &[server]))
    });
}

fn selecting(server: &Peer, ips: &Value) -> Value {
    let mut spec = json!({ "selector": { "app": server.name } });
    if !ips.is_null() {
        spec["clusterIPs"] = ips.clone();
        spec["clusterIP"] = ips[0].clone();
    }
    spec
}

fn set_endpoint(stage: &Stage<'_>, service: &str, server: &Peer) -> Result<()> {
    apply_slices(stage.api, service, "a", &[Endpoint::ready(server)])
}

/// One that asks from the same port each time.
pub(crate) fn socket(from: &Network, address: SocketAddr) -> Result<UdpSocket> {
    let any = if address.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
    from.within(|| {
        let socket = UdpSocket::bind(any).context("no socket")?;
        socket.connect(address).with_context(|| format!("no way to {address}"))?;
        Ok(socket)
    })
}

/// Soon, and then every time.
pub(crate) fn ensure_answered_by(
    stage: &Stage<'_>,
    client: &UdpSocket,
    target: Target,
    server: &Peer,
) -> Result<()> {
    let wanted = Answer::Said(server.name.clone());
    stage.until(&format!("{} to answer a client that asks {target}", server.name), || {
        let answer = ask::ask_on(client, "hostname").context("no answer")?;
        ensure!(answer == wanted, "{answer}");
        Ok(())
    })?;
    for _ in 0..5 {
        let answer =
            ask::ask_on(client, "hostname").with_context(|| format!("no more answers from {target}"))?;
        ensure!(answer == wanted, "{target}: {answer} answers, not {} any longer", server.name);
    }
    Ok(())
}
