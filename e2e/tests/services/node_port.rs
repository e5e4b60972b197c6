//! NodePorts.

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use antrea_types::Protocol;
use anyhow::{Context, Result};
use serde_json::json;

use super::ask::Target;
use super::stage::on_the_stage;

const PATIENCE: Duration = Duration::from_secs(2);

#[test]
fn a_node_port_answers_the_outside_on_every_node_in_both_families() {
    on_the_stage("a_node_port_answers_the_outside_on_every_node_in_both_families", |stage| {
        let spec = json!({ "type": "NodePort", "selector": { "role": "server" } });
        let service = stage.service("node-port", &spec)?;
        for host in [&stage.here, &stage.there] {
            for target in service.node_targets(&host.ips)? {
                stage.ensure_reaches(&stage.outside, target, &stage.servers)?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_node_port_answers_pods_and_nodes_on_every_node() {
    on_the_stage("a_node_port_answers_pods_and_nodes_on_every_node", |stage| {
        let spec = json!({ "type": "NodePort", "selector": { "role": "server" } });
        let service = stage.service("node-port-inside", &spec)?;
        for host in [&stage.here, &stage.there] {
            for target in service.node_targets(&host.ips)? {
                for from in stage.insiders() {
                    stage.ensure_reaches(from, target, &stage.servers)?;
                }
            }
        }
        Ok(())
    });
}

#[test]
fn a_pod_reaches_itself_through_a_node_port() {
    on_the_stage("a_pod_reaches_itself_through_a_node_port", |stage| {
        let server = stage.servers[0];
        let spec = json!({ "type": "NodePort", "selector": { "app": server.name } });
        let service = stage.service("node-port-hairpin", &spec)?;
        for host in [&stage.here, &stage.there] {
            for target in service.node_targets(&host.ips)? {
                stage.ensure_reaches(&server.network, target, &[server])?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_node_port_without_endpoints_refuses_the_outside() {
    on_the_stage("a_node_port_without_endpoints_refuses_the_outside", |stage| {
        let spec = json!({ "type": "NodePort", "selector": { "app": "nobody" } });
        let service = stage.service("node-port-nobody", &spec)?;
        for host in [&stage.here, &stage.there] {
            for target in service.node_targets(&host.ips)? {
                stage.ensure_refused(&stage.outside, target)?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_node_port_goes_with_its_service_and_with_its_type() {
    on_the_stage("a_node_port_goes_with_its_service_and_with_its_type", |stage| {
        let selector = json!({ "role": "server" });
        let spec = json!({ "type": "NodePort", "selector": selector });
        let service = stage.service("node-port-no-more", &spec)?;
        let targets = service.node_targets(&stage.here.ips)?;
        for target in &targets {
            stage.ensure_reaches(&stage.outside, *target, &stage.servers)?;
        }
        stage.service("node-port-no-more", &json!({ "type": "ClusterIP", "selector": selector }))?;
        for target in &targets {
            stage.ensure_nobody_answers(&stage.outside, *target)?;
        }
        for target in service.targets() {
            stage.ensure_reaches(&stage.clients[0].network, target, &stage.servers)?;
        }
        Ok(())
    });
}

/// A rule of destination NAT comes before any listener, for clients on the Node as well; kube-proxy does the same.
#[test]
fn a_node_port_that_a_host_program_listens_on_is_the_services_until_it_goes() {
    on_the_stage("a_node_port_that_a_host_program_listens_on_is_the_services_until_it_goes", |stage| {
        let spec = json!({ "type": "NodePort", "selector": { "role": "server" } });
        let service = stage.service("collision", &spec)?;
        let port = service.node_port(Protocol::Tcp)?;
        let listener = stage.here.network.within(|| listen(port))?;
        for ip in stage.here.ips.iter() {
            for from in [&stage.outside, &stage.there.network, &stage.here.network] {
                stage.ensure_reaches(from, Target::tcp(*ip, port), &stage.servers)?;
            }
        }
        // What the Service has taken shows when it is gone: the listener has connections to answer.
        while listener.accept().is_ok() {}
        stage.api.delete(&service.object)?;
        stage.until("the host's program to be reached", || {
            for ip in stage.here.ips.iter() {
                let target = Target::tcp(*ip, port).address;
                stage.outside.within(|| {
                    TcpStream::connect_timeout(&target, PATIENCE).context("cannot connect").map(drop)
                })?;
                listener.accept().context("somebody else was reached")?;
            }
            Ok(())
        })
    });
}

fn listen(port: u16) -> Result<TcpListener> {
    let listener = TcpListener::bind(("::", port)).context("cannot listen")?;
    listener.set_nonblocking(true).context("a listener that blocks")?;
    Ok(listener)
}
