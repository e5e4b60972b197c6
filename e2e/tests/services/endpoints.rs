//! Which endpoints of EndpointSlices serve.

use antrea_types::{IpFamily, Protocol};
use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::ask::Answer;
use super::objects::{Condition, Endpoint, Service, apply_slices};
use super::peers::Peer;
use super::stage::{Stage, on_the_stage, with_antrea_proxy};

#[test]
fn endpoints_of_several_slices_serve_together() {
    on_the_stage("endpoints_of_several_slices_serve_together", |stage| {
        let service = stage.service("several-slices", &json!({}))?;
        let [a, b, c, d] = stage.servers;
        // An endpoint may be in two slices while it moves from one to the other.
        for (suffix, peers) in [("x", vec![a, b]), ("y", vec![b, c]), ("z", vec![d])] {
            let endpoints: Vec<Endpoint> = peers.into_iter().map(Endpoint::ready).collect();
            apply_slices(stage.api, service.name()?, suffix, &endpoints)?;
        }
        ensure_served_by(stage, &service, &stage.servers)?;
        apply_slices(stage.api, service.name()?, "x", &[Endpoint::ready(a)])?;
        ensure_served_by(stage, &service, &stage.servers)?;
        apply_slices(stage.api, service.name()?, "y", &[])?;
        ensure_served_by(stage, &service, &[a, d])
    });
}

#[test]
fn endpoints_that_are_not_ready_get_no_traffic() {
    on_the_stage("endpoints_that_are_not_ready_get_no_traffic", |stage| {
        let service = stage.service("not-ready", &json!({}))?;
        let [a, b, c, d] = stage.servers;
        for (ready, not_ready) in [([a, c], [b, d]), ([b, d], [a, c])] {
            let endpoints = ready.map(Endpoint::ready).into_iter();
            let others = not_ready.map(|peer| Endpoint::of(peer, Condition::NotReady));
            apply_slices(stage.api, service.name()?, "a", &endpoints.chain(others).collect::<Vec<_>>())?;
            ensure_served_by(stage, &service, &ready)?;
        }
        let none = stage.servers.map(|peer| Endpoint::of(peer, Condition::NotReady));
        apply_slices(stage.api, service.name()?, "a", &none)?;
        service
            .targets()
            .into_iter()
            .try_for_each(|target| stage.ensure_refused(&stage.clients[0].network, target))
    });
}

#[test]
fn terminating_endpoints_serve_only_while_nothing_is_ready() {
    on_the_stage("terminating_endpoints_serve_only_while_nothing_is_ready", |stage| {
        let service = stage.service("terminating", &json!({}))?;
        let [a, b, c, d] = stage.servers;
        let endpoints = |first: Condition| {
            [
                Endpoint::of(a, first),
                Endpoint::of(b, Condition::TerminatingAndServing),
                Endpoint::of(c, Condition::Terminating),
                Endpoint::of(d, Condition::NotReady),
            ]
        };
        apply_slices(stage.api, service.name()?, "a", &endpoints(Condition::Ready))?;
        ensure_served_by(stage, &service, &[a])?;
        apply_slices(stage.api, service.name()?, "a", &endpoints(Condition::TerminatingAndServing))?;
        ensure_served_by(stage, &service, &[a, b])?;
        apply_slices(stage.api, service.name()?, "a", &endpoints(Condition::NotReady))?;
        ensure_served_by(stage, &service, &[b])
    });
}

/// Each Node decides for itself: what is on its way out there serves, though elsewhere something is ready.
#[test]
fn with_external_traffic_policy_local_a_terminating_endpoint_serves_where_nothing_else_is_local() {
    let name = "with_external_traffic_policy_local_a_terminating_endpoint_serves_where_nothing_else_is_local";
    on_the_stage(name, |stage| {
        let spec = json!({ "type": "NodePort", "externalTrafficPolicy": "Local" });
        let service = stage.service("terminating-local", &spec)?;
        let [a, _, c, _] = stage.servers;
        let endpoints = [Endpoint::of(a, Condition::TerminatingAndServing), Endpoint::ready(c)];
        apply_slices(stage.api, service.name()?, "a", &endpoints)?;
        for (host, server) in [(&stage.here, a), (&stage.there, c)] {
            for target in service.node_targets(&host.ips)? {
                stage.ensure_reaches(&stage.outside, target, &[server])?;
            }
        }
        ensure_served_by(stage, &service, &[c])
    });
}

#[test]
fn an_endpoint_outside_of_the_cluster_is_served() {
    on_the_stage("an_endpoint_outside_of_the_cluster_is_served", |stage| {
        let service = stage.service("outside", &json!({ "type": "NodePort" }))?;
        let subnets = stage.cluster.lab.plan().block.outside();
        let ips = subnets.iter().filter_map(|subnet| antrea_e2e::plan::address_in(subnet, 2));
        apply_slices(stage.api, service.name()?, "a", &[Endpoint::at(ips.collect())])?;
        let targets = service.targets().into_iter().chain(service.node_targets(&stage.here.ips)?);
        // Out there UDP is answered at another port.
        for target in targets.filter(|target| target.protocol == Protocol::Tcp) {
            for from in stage.insiders() {
                stage.until(&format!("{} to reach the server outside at {target}", from.name), || {
                    let answer = target.hostname(from)?;
                    ensure!(matches!(answer, Answer::Said(_)), "{answer}");
                    Ok(())
                })?;
            }
        }
        Ok(())
    });
}

/// What a Service of a ClusterSet is made of.
#[test]
fn endpoints_that_are_cluster_ips_of_other_services_lead_to_their_endpoints() {
    with_antrea_proxy("endpoints_that_are_cluster_ips_of_other_services_lead_to_their_endpoints", |stage| {
        let inner_ports = json!([
            { "name": "tcp", "protocol": "TCP", "port": 8080, "targetPort": 8080 },
            { "name": "udp", "protocol": "UDP", "port": 8080, "targetPort": 8080 },
        ]);
        let spec = |app: &Peer| json!({ "selector": { "app": app.name }, "ports": inner_ports });
        let [a, _, c, _] = stage.servers;
        let inner = [stage.service("inner-a", &spec(a))?, stage.service("inner-c", &spec(c))?];
        let outer = stage.service("outer", &json!({}))?;
        let endpoints: Vec<Endpoint> = inner.iter().map(|service| Endpoint::at(service.ips())).collect();
        apply_slices(stage.api, outer.name()?, "a", &endpoints)?;
        for client in stage.clients {
            for target in outer.targets() {
                stage.ensure_reaches(&client.network, target, &[a, c])?;
            }
        }
        Ok(())
    });
}

#[test]
fn families_have_endpoints_of_their_own() {
    on_the_stage("families_have_endpoints_of_their_own", |stage| {
        let service = stage.service("families", &json!({}))?;
        let [a, _, c, _] = stage.servers;
        let only = |peer: &Peer, family: IpFamily| -> Result<Endpoint> {
            Ok(Endpoint::at([peer.ip(family)?].into_iter().collect()))
        };
        let endpoints = [only(a, IpFamily::V4)?, only(c, IpFamily::V6)?];
        apply_slices(stage.api, service.name()?, "a", &endpoints)?;
        for target in service.targets() {
            let server = if target.address.is_ipv6() { c } else { a };
            stage.ensure_reaches(&stage.clients[0].network, target, &[server])?;
        }
        Ok(())
    });
}

#[test]
fn a_service_of_one_family_is_served_in_that_family() {
    on_the_stage("a_service_of_one_family_is_served_in_that_family", |stage| {
        for family in IpFamily::ALL {
            let spec = json!({
                "ipFamilyPolicy": "SingleStack", "ipFamilies": [family.to_string()], "selector": { "role": "server" },
            });
            let service = stage.service(&format!("only-{}", family.to_string().to_lowercase()), &spec)?;
            let ip = service.ips().get(family).copied();
            ip.with_context(|| format!("no ClusterIP of {family}"))?;
            ensure_served_by(stage, &service, &stage.servers)?;
        }
        Ok(())
    });
}

/// From a Pod on each Node, at its ClusterIPs.
pub(crate) fn ensure_served_by(stage: &Stage<'_>, service: &Service, servers: &[&Peer]) -> Result<()> {
    for client in stage.clients {
        for target in service.targets() {
            stage.ensure_reaches(&client.network, target, servers)?;
        }
    }
    Ok(())
}
