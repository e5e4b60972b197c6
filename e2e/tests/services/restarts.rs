//! The agent and Open vSwitch end and come back while clients use Services.

use std::time::Duration;

use antrea_e2e::wait;
use antrea_types::Protocol;
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use super::ask::Target;
use super::faults::{ensure_answered_by, socket};
use super::stage::{Stage, on_the_stage};
use super::talk::{self, Pair, ensure_all_were_answered, while_connected, while_connecting};
use crate::ovs_absences;

/// From the moment that Open vSwitch accepts connections of controllers again.
const NEW_ONES_WITHIN: Duration = Duration::from_secs(5);

#[test]
fn clients_of_services_notice_nothing_of_a_restart_of_the_agent() {
    on_the_stage("clients_of_services_notice_nothing_of_a_restart_of_the_agent", |stage| {
        let targets = targets(stage, "agent-restart")?;
        let pairs = pairs(stage, &targets);
        ready(stage, &pairs)?;
        let crash = || stage.cluster.crash_agent(stage.here.node);
        let ((), attempts) = while_connected(&pairs, || while_connecting(&pairs, crash))?;
        ensure_all_were_answered(&pairs, &attempts)
    });
}

#[test]
fn what_changes_while_the_agent_is_away_is_served_when_it_is_back() {
    on_the_stage("what_changes_while_the_agent_is_away_is_served_when_it_is_back", |stage| {
        let [a, b, c, _] = stage.servers;
        let spec = |app: &str| json!({ "selector": { "app": app } });
        let changed = stage.service("changes-meanwhile", &spec(&a.name))?;
        let deleted = stage.service("goes-meanwhile", &spec(&a.name))?;
        let from = &stage.clients[0].network;
        for target in changed.targets().into_iter().chain(deleted.targets()) {
            stage.ensure_reaches(from, target, &[a])?;
        }
        let udp = changed.targets().into_iter().filter(|target| target.protocol == Protocol::Udp);
        let clients =
            udp.map(|target| Ok((target, socket(from, target.address)?))).collect::<Result<Vec<_>>>()?;
        clients.iter().try_for_each(|(target, client)| ensure_answered_by(stage, client, *target, a))?;
        let node = stage.here.node;
        let before = stage.cluster.agent(node)?;
        stage.cluster.stop_agent(node)?;
        stage.service("changes-meanwhile", &spec(&c.name))?;
        stage.api.delete(&deleted.object)?;
        let made = stage.service("comes-meanwhile", &spec(&b.name))?;
        stage.cluster.kill_agent(node)?;
        stage.cluster.wait_for_restart(node, &before)?;
        changed.targets().into_iter().try_for_each(|target| stage.ensure_reaches(from, target, &[c]))?;
        clients.iter().try_for_each(|(target, client)| ensure_answered_by(stage, client, *target, c))?;
        made.targets().into_iter().try_for_each(|target| stage.ensure_reaches(from, target, &[b]))?;
        deleted.targets().into_iter().try_for_each(|target| stage.ensure_nobody_answers(from, target))
    });
}

#[test]
fn new_connections_to_services_work_within_seconds_of_a_restart_of_open_vswitch() {
    let name = "new_connections_to_services_work_within_seconds_of_a_restart_of_open_vswitch";
    on_the_stage(name, |stage| {
        let targets = targets(stage, "ovs-restart")?;
        let pairs = pairs(stage, &targets);
        ready(stage, &pairs)?;
        let (((), absences), attempts) = while_connecting(&pairs, || {
            ovs_absences::during(&stage.cluster, || {
                crate::ovs_crashes::kill(&stage.cluster, stage.here.node, "ovs-vswitchd")?;
                wait_for_answers(stage, &pairs)
            })
        })?;
        let [absence] = absences.as_slice() else { bail!("not one absence: {absences:?}") };
        for (pair, attempts) in pairs.iter().zip(attempts) {
            ensure_answered_after(*pair, &attempts, absence.accepts + NEW_ONES_WITHIN)?;
        }
        Ok(())
    });
}

/// Ten seconds of answers and none else: longer than what is looked at.
fn wait_for_answers(stage: &Stage<'_>, pairs: &[Pair<'_>]) -> Result<()> {
    for (from, target) in pairs {
        stage.ensure_reaches(from, *target, &stage.servers)?;
    }
    let until = ovs_absences::now() + 2 * NEW_ONES_WITHIN;
    wait::until(4 * NEW_ONES_WITHIN, "the end of what is looked at", || Ok(ovs_absences::now() > until))
}

fn ensure_answered_after(
    (from, target): Pair<'_>,
    attempts: &[talk::Attempt],
    moment: Duration,
) -> Result<()> {
    let failed = attempts.iter().filter(|attempt| attempt.has_failed());
    let last = failed.clone().max_by_key(|attempt| attempt.at);
    println!(
        "{} → {target}: {} new connections, {} failed, the last one {:?} before the end of its time",
        from.name,
        attempts.len(),
        failed.count(),
        last.map(|last| moment.saturating_sub(last.at))
    );
    ensure!(
        last.is_none_or(|last| last.at < moment),
        "{} → {target}: one failed after {moment:?}: {last:?}",
        from.name
    );
    ensure!(attempts.iter().any(|attempt| attempt.at > moment), "nobody asked after that time");
    Ok(())
}

/// The ClusterIP and the first Node's NodePort of a Service, over TCP in both families.
fn targets(stage: &Stage<'_>, name: &str) -> Result<[Vec<Target>; 2]> {
    let spec = json!({ "type": "NodePort", "selector": { "role": "server" } });
    let service = stage.service(name, &spec)?;
    let tcp = |targets: Vec<Target>| -> Vec<Target> {
        targets.into_iter().filter(|target| target.protocol == Protocol::Tcp).collect()
    };
    Ok([tcp(service.targets()), tcp(service.node_targets(&stage.here.ips)?)])
}

/// A Pod and a process of the first Node ask the ClusterIP, the outside asks the NodePort.
fn pairs<'a>(stage: &'a Stage<'_>, [cluster_ips, node_ports]: &[Vec<Target>; 2]) -> Vec<Pair<'a>> {
    let inside = [&stage.clients[0].network, &stage.here.network];
    let inside = inside.into_iter().flat_map(|from| cluster_ips.iter().map(move |target| (from, *target)));
    inside.chain(node_ports.iter().map(|target| (&stage.outside, *target))).collect()
}

fn ready(stage: &Stage<'_>, pairs: &[Pair<'_>]) -> Result<()> {
    pairs
        .iter()
        .try_for_each(|(from, target)| stage.ensure_reaches(from, *target, &stage.servers))
        .context("before anything happened")
}
