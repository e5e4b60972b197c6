//! antrea-controller is away, dies or is another one: what Pods may do stays as it was, and nobody gets in who is new.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::processes::{self, Process};
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::stage::{Stage, on_the_stage};
use super::streams::{Streams, busy};
use crate::cluster::NAMESPACE;

/// What an agent logs when the controller is another, or is not to be trusted.
const GIVEN_UP: &str = "Connection to antrea-controller is given up";

const PATIENCE: Duration = Duration::from_secs(60);

/// The agent of the first Node dies meanwhile, too: what it knows then is what it has kept.
#[test]
fn while_the_controller_is_away_known_pods_keep_their_policies() {
    on_the_stage("while_the_controller_is_away_known_pods_keep_their_policies", |stage| {
        let streams = Streams::of_an_isolated_namespace(stage)?;
        let known = "x-b z-a -> x-a tcp/8080 udp/8080: allowed
                     z-b there -> x-a tcp/8080: denied
                     z-a z-b -> x-b tcp/8080: denied";
        let fault = || {
            scale(stage, 0)?;
            stage.ensure(known)?;
            stage.services.cluster.crash_agent_without_controller(stage.services.here.node)?;
            stage.ensure(known)?;
            scale(stage, 1)?;
            stage.ensure(known)
        };
        streams.ensure_hold_during(fault, |time| busy(stage, time))
    });
}

#[test]
fn a_controller_that_is_killed_opens_nothing_and_its_successor_is_heard() {
    on_the_stage("a_controller_that_is_killed_opens_nothing_and_its_successor_is_heard", |stage| {
        let streams = Streams::of_an_isolated_namespace(stage)?;
        let fault = || {
            crash(stage)?;
            stage.apply(TO_Z_B)?;
            stage.ensure("x-b z-a -> z-b tcp/8080: denied")
        };
        streams.ensure_hold_during(fault, |time| busy(stage, time))
    });
}

/// Every controller has an authority of its own: agents have to trust the new one, and no other.
#[test]
fn agents_follow_a_controller_with_another_certificate() {
    on_the_stage("agents_follow_a_controller_with_another_certificate", |stage| {
        let streams = Streams::of_an_isolated_namespace(stage)?;
        let fault = || {
            let before = authority(stage, "antrea-ca")?;
            scale(stage, 0)?;
            stage.services.cluster.kubectl.text(&["delete", "configmap", "-n", NAMESPACE, "antrea-ca"])?;
            scale(stage, 1)?;
            stage.apply(TO_Z_B)?;
            stage.ensure("x-b z-a -> z-b tcp/8080: denied")?;
            let after = authority(stage, "antrea-ca")?;
            ensure!(!after.is_empty() && after != before, "the authority is still {after:?}");
            Ok(())
        };
        streams.ensure_hold_during(fault, |time| busy(stage, time))
    });
}

/// Agents leave a controller that they are told not to trust, and come back to it when it has said whom to trust.
#[test]
fn agents_that_are_told_to_trust_somebody_else_under_their_watches_hear_of_policies_soon_after() {
    let name = "agents_that_are_told_to_trust_somebody_else_under_their_watches_hear_of_policies_soon_after";
    on_the_stage(name, |stage| {
        let streams = Streams::of_an_isolated_namespace(stage)?;
        let fault = || {
            let ours = authority(stage, "antrea-ca")?;
            let another = json!({ "data": { "ca.crt": authority(stage, "kube-root-ca.crt")? } });
            let before = count_in_logs_of_agents(stage, GIVEN_UP)?;
            for _ in 0..5 {
                stage.api().patch(&config_map("antrea-ca"), &another)?;
                wait::closely(PATIENCE, "the controller's authority to be published again", || {
                    Ok((authority(stage, "antrea-ca")? == ours).then_some(()))
                })?;
            }
            stage.apply(TO_Z_B)?;
            stage.ensure("x-b z-a -> z-b tcp/8080: denied")?;
            let after = count_in_logs_of_agents(stage, GIVEN_UP)?;
            let all = after.len() == 2 && after.iter().all(|(pod, count)| *count > before[pod]);
            ensure!(all, "an agent has not lost trust: given up were {before:?}, now {after:?}");
            Ok(())
        };
        streams.ensure_hold_during(fault, |time| busy(stage, time))
    });
}

const TO_Z_B: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: to-z-b, namespace: z}
spec: {podSelector: {matchLabels: {app: z-b}}, policyTypes: [Ingress]}";

/// That many controllers, from now on.
pub(super) fn scale(stage: &Stage<'_>, replicas: u8) -> Result<()> {
    let path = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/antrea-controller");
    stage.api().patch(&path, &json!({ "spec": { "replicas": replicas } }))?;
    wait::until(PATIENCE, &format!("{replicas} controllers"), || {
        let pods = pods(stage)?;
        let ready = pods.iter().filter(|pod| pod["status"]["containerStatuses"][0]["ready"] == true).count();
        Ok(pods.len() == usize::from(replicas) && ready == pods.len())
    })
}

fn pods(stage: &Stage<'_>) -> Result<Vec<Value>> {
    let selector = "labelSelector=component%3Dantrea-controller";
    let pods = stage.api().get(&format!("/api/v1/namespaces/{NAMESPACE}/pods?{selector}"))?;
    Ok(pods["items"].as_array().cloned().unwrap_or_default())
}

/// The Pod of the only controller.
pub(super) fn pod(stage: &Stage<'_>) -> Result<Value> {
    let pods = pods(stage)?;
    let [pod] = pods.as_slice() else { anyhow::bail!("there is not one controller: {pods:?}") };
    Ok(pod.clone())
}

/// The process of the only controller as this machine sees it, and its Node.
pub(super) fn process(stage: &Stage<'_>) -> Result<(NodeId, Process)> {
    let node = pod(stage)?["spec"]["nodeName"].as_str().context("a controller on no Node")?.parse()?;
    let namespace = stage.services.cluster.lab.plan().namespace(Place::Node(node))?;
    let here = processes::in_namespace(&namespace)?;
    let controller = here.into_iter().find(|process| process.program == "antrea-controller");
    Ok((node, controller.with_context(|| format!("{node} has no antrea-controller"))?))
}

/// Kills the controller, and waits until there is another.
fn crash(stage: &Stage<'_>) -> Result<()> {
    let restarts = |pod: &Value| pod["status"]["containerStatuses"][0]["restartCount"].as_u64();
    let before = pod(stage)?;
    let (_, controller) = process(stage)?;
    kill(Pid::from_raw(controller.pid), Signal::SIGKILL).context("cannot kill the controller")?;
    wait::until(PATIENCE, "the controller to be back", || {
        let now = pod(stage)?;
        let ready = now["status"]["containerStatuses"][0]["ready"] == true;
        Ok(ready && restarts(&now) > restarts(&before))
    })
}

/// Whose certificates whoever reads a ConfigMap trusts. Agents read `antrea-ca`.
fn authority(stage: &Stage<'_>, name: &str) -> Result<String> {
    let map = stage.api().get(&config_map(name))?;
    Ok(map["data"]["ca.crt"].as_str().unwrap_or_default().to_owned())
}

fn config_map(name: &str) -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{name}")
}

/// How often each agent has logged something, by its Pod.
pub(super) fn count_in_logs_of_agents(stage: &Stage<'_>, message: &str) -> Result<BTreeMap<String, usize>> {
    let of_agents = ["logs", "-n", NAMESPACE, "-l", "component=antrea-agent", "-c", "antrea-agent"];
    let logs = stage.services.cluster.kubectl.text(&[&of_agents[..], &["--tail=-1", "--prefix"]].concat())?;
    let mut counts = BTreeMap::new();
    for (pod, line) in logs.lines().filter_map(|line| line.split_once(' ')) {
        *counts.entry(pod.to_owned()).or_default() += usize::from(line.contains(message));
    }
    Ok(counts)
}
