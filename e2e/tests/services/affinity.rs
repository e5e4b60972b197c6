//! Session affinity by client IP.

use std::time::{Duration, Instant};

use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::ask::{Answer, Target};
use super::network::Network;
use super::objects::{self, Endpoint, SERVICE_PORT, Service, targets_at};
use super::peers::Peer;
use super::stage::{Stage, on_the_stage, with_antrea_proxy};

/// Chosen anew each time, four servers would hardly be the same one so often.
const TIMES: usize = 20;

#[test]
fn a_client_stays_with_its_endpoint() {
    on_the_stage("a_client_stays_with_its_endpoint", |stage| {
        let spec = json!({ "type": "NodePort", "selector": { "role": "server" } });
        let service = stage.service("affinity", &with_affinity(spec, 300))?;
        for from in stage.insiders() {
            for target in service.targets() {
                ensure_stays(stage, from, target)?;
            }
        }
        for host in [&stage.here, &stage.there] {
            for target in service.node_targets(&host.ips)? {
                ensure_stays(stage, &stage.outside, target)?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_client_stays_with_its_endpoint_while_the_agent_restarts() {
    with_antrea_proxy("a_client_stays_with_its_endpoint_while_the_agent_restarts", |stage| {
        let service = stage
            .service("affinity-restart", &with_affinity(json!({ "selector": { "role": "server" } }), 600))?;
        let clients = [&stage.clients[0].network, &stage.clients[1].network];
        let chosen = || -> Result<Vec<Answer>> {
            let pairs =
                clients.iter().flat_map(|from| service.targets().into_iter().map(move |to| (from, to)));
            pairs.map(|(from, target)| ensure_stays(stage, from, target)).collect()
        };
        let before = chosen()?;
        stage.cluster.crash_agent(stage.there.node)?;
        let after = chosen()?;
        ensure!(before == after, "clients had {before:?}, and have {after:?} after the restart");
        Ok(())
    });
}

#[test]
fn affinity_ends_after_its_timeout() {
    on_the_stage("affinity_ends_after_its_timeout", |stage| {
        let service = stage
            .service("affinity-timeout", &with_affinity(json!({ "selector": { "role": "server" } }), 1))?;
        let target = service.targets().into_iter().next().context("a Service without ClusterIP")?;
        let from = &stage.clients[0].network;
        let first = ensure_stays_once(stage, from, target)?;
        // To ask sooner would make it last longer, where affinity counts from the last connection.
        let mut asked = Instant::now();
        stage.until("another endpoint after the timeout", || {
            ensure!(asked.elapsed() > Duration::from_millis(2100), "not asked again yet");
            asked = Instant::now();
            let answer = target.hostname(from)?;
            ensure!(answer != first && matches!(answer, Answer::Said(_)), "{answer} again");
            Ok(())
        })
    });
}

#[test]
fn a_client_moves_on_when_its_endpoint_goes() {
    on_the_stage("a_client_moves_on_when_its_endpoint_goes", |stage| {
        let service = stage.service("affinity-moves", &with_affinity(json!({}), 300))?;
        let from = &stage.clients[0].network;
        let [a, b, ..] = stage.servers;
        set_endpoints(stage, &service, &[a])?;
        for target in service.targets() {
            stage.ensure_reaches(from, target, &[a])?;
        }
        set_endpoints(stage, &service, &[a, b])?;
        for target in service.targets() {
            ensure!(target.hostname(from)? == Answer::Said(a.name.clone()), "it left for no reason");
        }
        set_endpoints(stage, &service, &[b])?;
        for target in service.targets() {
            stage.ensure_reaches(from, target, &[b])?;
        }
        Ok(())
    });
}

#[test]
fn affinity_can_be_turned_on_and_off() {
    on_the_stage("affinity_can_be_turned_on_and_off", |stage| {
        let from = &stage.clients[0].network;
        let selector = json!({ "selector": { "role": "server" } });
        for _ in 0..2 {
            let mut spec = selector.clone();
            spec["sessionAffinity"] = json!("None");
            let service = stage.service("affinity-on-and-off", &spec)?;
            for target in service.targets() {
                stage.ensure_reaches(from, target, &stage.servers)?;
            }
            let service = stage.service("affinity-on-and-off", &with_affinity(selector.clone(), 300))?;
            for target in service.targets() {
                ensure_stays(stage, from, target)?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_client_of_an_external_ip_stays_with_its_endpoint() {
    on_the_stage("a_client_of_an_external_ip_stays_with_its_endpoint", |stage| {
        let ips = super::load_balancer::addresses(60)?;
        let listed: Vec<String> = ips.iter().map(ToString::to_string).collect();
        let spec = json!({ "selector": { "role": "server" }, "externalIPs": listed });
        stage.service("affinity-external", &with_affinity(spec, 300))?;
        for target in targets_at(&ips, SERVICE_PORT) {
            ensure_stays(stage, &stage.outside, target)?;
        }
        Ok(())
    });
}

fn with_affinity(mut spec: Value, seconds: u32) -> Value {
    spec["sessionAffinity"] = json!("ClientIP");
    spec["sessionAffinityConfig"] = json!({ "clientIP": { "timeoutSeconds": seconds } });
    spec
}

fn set_endpoints(stage: &Stage<'_>, service: &Service, peers: &[&Peer]) -> Result<()> {
    let endpoints: Vec<Endpoint> = peers.iter().map(|peer| Endpoint::ready(peer)).collect();
    objects::apply_slices(stage.api, service.name()?, "a", &endpoints)
}

/// Waits until a client reaches the same server every time, and returns which.
fn ensure_stays(stage: &Stage<'_>, from: &Network, target: Target) -> Result<Answer> {
    stays(stage, from, target, TIMES)
}

/// The same where there is no time to ask often.
fn ensure_stays_once(stage: &Stage<'_>, from: &Network, target: Target) -> Result<Answer> {
    stays(stage, from, target, 1)
}

fn stays(stage: &Stage<'_>, from: &Network, target: Target, times: usize) -> Result<Answer> {
    let what = format!("{} to stay with one server at {target}", from.name);
    wait::eventually(Duration::from_secs(20), &what, || {
        let answers = target.hostnames(from, times)?;
        let mut said = answers.into_keys();
        let (first, second) = (said.next(), said.next());
        ensure!(second.is_none(), "it left {first:?} for {second:?}");
        let served =
            |answer: &Answer| stage.servers.iter().any(|server| *answer == Answer::Said(server.name.clone()));
        Ok(first.filter(served))
    })
}
