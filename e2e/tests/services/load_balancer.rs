//! Addresses of load balancers, and external IPs.

use std::net::IpAddr;

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::names::Place;
use antrea_types::DualStack;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::ask::{Answer, Target};
use super::objects::{SERVICE_PORT, targets_at};
use super::stage::{Stage, on_the_stage, with_antrea_proxy};

#[test]
fn an_ingress_address_answers_the_outside_pods_and_nodes() {
    on_the_stage("an_ingress_address_answers_the_outside_pods_and_nodes", |stage| {
        let spec = json!({ "type": "LoadBalancer", "selector": { "role": "server" } });
        let service = stage.service("load-balancer", &spec)?;
        let ips = addresses(10)?;
        service.set_ingress(stage.api, &ingress(&ips, "VIP"))?;
        for target in targets_at(&ips, SERVICE_PORT) {
            for from in stage.insiders().into_iter().chain([&stage.outside]) {
                stage.ensure_reaches(from, target, &stage.servers)?;
            }
        }
        service.set_ingress(stage.api, &[])?;
        for target in targets_at(&ips, SERVICE_PORT) {
            stage.ensure_nobody_answers(&stage.outside, target)?;
            stage.ensure_nobody_answers(&stage.clients[0].network, target)?;
        }
        Ok(())
    });
}

/// Somebody outside has the address: whoever is left to the load balancer reaches that.
#[test]
fn an_ingress_address_of_mode_proxy_is_left_to_the_load_balancer() {
    on_the_stage("an_ingress_address_of_mode_proxy_is_left_to_the_load_balancer", |stage| {
        let ips = addresses(20)?;
        let load_balancer = LoadBalancer::start(stage, ips)?;
        let spec = json!({ "type": "LoadBalancer", "selector": { "role": "server" } });
        let service = stage.service("mode-proxy", &spec)?;
        service.set_ingress(stage.api, &ingress(&ips, "VIP"))?;
        let target = Target::tcp(ips.v4.context("no IPv4")?, SERVICE_PORT);
        stage.ensure_reaches(&stage.clients[0].network, target, &stage.servers)?;
        service.set_ingress(stage.api, &ingress(&ips, "Proxy"))?;
        for ip in ips.iter() {
            for from in stage.insiders() {
                load_balancer.ensure_reached(stage, from, Target::tcp(*ip, SERVICE_PORT))?;
            }
        }
        load_balancer.stop()
    });
}

#[test]
fn external_ips_answer_the_outside_pods_and_nodes() {
    on_the_stage("external_ips_answer_the_outside_pods_and_nodes", |stage| {
        let ips = addresses(30)?;
        let listed: Vec<&IpAddr> = ips.iter().collect();
        let spec = json!({ "selector": { "role": "server" }, "externalIPs": listed });
        stage.service("external-ips", &spec)?;
        for target in targets_at(&ips, SERVICE_PORT) {
            for from in stage.insiders().into_iter().chain([&stage.outside]) {
                stage.ensure_reaches(from, target, &stage.servers)?;
            }
        }
        Ok(())
    });
}

#[test]
fn the_older_of_two_services_keeps_an_external_ip_and_its_port_until_it_goes() {
    let name = "the_older_of_two_services_keeps_an_external_ip_and_its_port_until_it_goes";
    with_antrea_proxy(name, |stage| {
        let ips = addresses(40)?;
        let listed: Vec<&IpAddr> = ips.iter().collect();
        let [one, other] = [stage.servers[0], stage.servers[2]];
        let spec = |app: &str| json!({ "selector": { "app": app }, "externalIPs": listed });
        let older = stage.service("older", &spec(&one.name))?;
        next_second(stage)?;
        // By name it comes first.
        let younger = stage.service("a-younger", &spec(&other.name))?;
        let from = [&stage.outside, &stage.clients[0].network];
        for target in younger.targets() {
            stage.ensure_reaches(from[1], target, &[other])?;
        }
        for target in targets_at(&ips, SERVICE_PORT) {
            from.iter().try_for_each(|from| stage.ensure_reaches(from, target, &[one]))?;
        }
        wait_for_event(stage, "a-younger", "older")?;
        stage.api.delete(&older.object)?;
        for target in targets_at(&ips, SERVICE_PORT) {
            from.iter().try_for_each(|from| stage.ensure_reaches(from, target, &[other]))?;
        }
        Ok(())
    });
}

/// Kubernetes counts the age of objects in seconds.
fn next_second(stage: &Stage<'_>) -> Result<()> {
    let mut number = 0;
    let mut made_at = || {
        number += 1;
        let probe = stage.service(&format!("clock-{number}"), &json!({}))?;
        Ok::<_, anyhow::Error>(probe.object["metadata"]["creationTimestamp"].clone())
    };
    let now = made_at()?;
    stage.until("the next second", || {
        ensure!(made_at()? != now, "it is still {now}");
        Ok(())
    })
}

/// A warning at a Service that says these words.
pub(crate) fn wait_for_event(stage: &Stage<'_>, service: &str, words: &str) -> Result<()> {
    let selector = format!("fieldSelector=involvedObject.name%3D{service},involvedObject.kind%3DService");
    let path = format!("/api/v1/namespaces/default/events?{selector}");
    stage.until(&format!("an Event of Service {service} that says {words:?}"), || {
        let events = stage.api.get(&path)?;
        let items = events["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let says = |event: &Value| {
            event["type"] == "Warning" && event["message"].as_str().is_some_and(|text| text.contains(words))
        };
        ensure!(items.iter().any(says), "{items:?}");
        Ok(())
    })
}

/// An address of each family that leads to the first Node, from the outside.
pub(crate) fn addresses(number: u8) -> Result<DualStack<IpAddr>> {
    let texts = [format!("198.51.100.{number}"), format!("2001:db8::{number}")];
    texts.iter().map(|text| text.parse::<IpAddr>().context("no address")).collect()
}

/// `status.loadBalancer.ingress`.
pub(crate) fn ingress(ips: &DualStack<IpAddr>, mode: &str) -> Vec<Value> {
    ips.iter().map(|ip| json!({ "ip": ip, "ipMode": mode })).collect()
}

/// The server outside, at more addresses.
struct LoadBalancer {
    outside: String,
    router: String,
    ips: DualStack<IpAddr>,
}

impl LoadBalancer {
    fn start(stage: &Stage<'_>, ips: DualStack<IpAddr>) -> Result<Self> {
        let plan = stage.cluster.lab.plan();
        let (outside, router) = (plan.namespace(Place::Outside)?, plan.namespace(Place::Router)?);
        let own: Vec<IpAddr> =
            plan.block.outside().iter().filter_map(|net| antrea_e2e::plan::address_in(net, 2)).collect();
        for (ip, own) in ips.iter().zip(own) {
            let length = if ip.is_ipv6() { 128 } else { 32 };
            let address = format!("{ip}/{length}");
            command("ip", &["-n", &outside, "address", "replace", &address, "dev", "lo"]).run()?;
            command("ip", &["-n", &router, "route", "replace", &address, "via", &own.to_string()]).run()?;
        }
        Ok(Self { outside, router, ips })
    }

    /// It answers with the name of the machine.
    fn ensure_reached(
        &self,
        stage: &Stage<'_>,
        from: &super::network::Network,
        target: Target,
    ) -> Result<()> {
        stage.until(&format!("{} to reach the load balancer at {target}", from.name), || {
            let answer = target.hostname(from)?;
            let ours = stage.servers.iter().any(|server| answer == Answer::Said(server.name.clone()));
            ensure!(matches!(answer, Answer::Said(_)) && !ours, "{answer}");
            Ok(())
        })
    }

    fn stop(self) -> Result<()> {
        for ip in self.ips.iter() {
            let address = format!("{ip}/{}", if ip.is_ipv6() { 128 } else { 32 });
            command("ip", &["-n", &self.outside, "address", "delete", &address, "dev", "lo"]).run()?;
            command("ip", &["-n", &self.router, "route", "delete", &address]).run()?;
        }
        Ok(())
    }
}
