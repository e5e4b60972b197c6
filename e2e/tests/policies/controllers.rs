//! antrea-controller is away, dies or is another one: what Pods may do stays as it was, and nobody gets in who is new.

use std::time::Duration;

use antrea_e2e::names::Place;
use antrea_e2e::{processes, wait};
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::expected::{self, Verdict, between};
use super::stage::{Stage, on_the_stage};
use super::streams::{Streams, busy};
use crate::cluster::NAMESPACE;
use crate::services::peers::Peer;

const PATIENCE: Duration = Duration::from_secs(60);

/// The agent of the first Node dies meanwhile, too: what it knows then is what it has kept.
#[test]
fn while_the_controller_is_away_known_pods_keep_their_policies_and_others_stay_closed_but_to_their_node() {
    let name = "while_the_controller_is_away_known_pods_keep_their_policies_and_others_stay_closed_but_to_their_node";
    on_the_stage(name, |stage| {
        let streams = Streams::of_an_isolated_namespace(stage)?;
        let node = stage.services.here.node;
        let fault = || {
            scale(stage, 0)?;
            stage.start_pod("z-late", "late", node)?;
            let late = stage.wait_for_pod("z-late")?;
            ensure_closed(stage, &late)?;
            stage.services.cluster.crash_agent_without_controller(node)?;
            ensure_closed(stage, &late)?;
            let known = "x-b z-a -> x-a tcp/8080 udp/8080: allowed
                         z-b there -> x-a tcp/8080: denied
                         z-a z-b -> x-b tcp/8080: denied";
            stage.ensure(known)?;
            scale(stage, 1)?;
            ensure_open(stage, &late)?;
            stage.ensure(known)
        };
        streams.ensure_hold_during(fault, |time| busy(stage, time))?;
        stage.delete_pod("z-late")
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

/// Every controller has a certificate of its own: agents have to trust the new one, and no other.
#[test]
fn agents_follow_a_controller_with_another_certificate() {
    on_the_stage("agents_follow_a_controller_with_another_certificate", |stage| {
        let streams = Streams::of_an_isolated_namespace(stage)?;
        let fault = || {
            let before = authority(stage)?;
            scale(stage, 0)?;
            stage.services.cluster.kubectl.text(&["delete", "configmap", "-n", NAMESPACE, "antrea-ca"])?;
            scale(stage, 1)?;
            stage.apply(TO_Z_B)?;
            stage.ensure("x-b z-a -> z-b tcp/8080: denied")?;
            let after = authority(stage)?;
            ensure!(!after.is_empty(), "nobody says whom to trust");
            println!("the authority is {}", if before == after { "the same" } else { "another" });
            Ok(())
        };
        streams.ensure_hold_during(fault, |time| busy(stage, time))
    });
}

const TO_Z_B: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: to-z-b, namespace: z}
spec: {podSelector: {matchLabels: {app: z-b}}, policyTypes: [Ingress]}";

/// A Pod of a Namespace without policies is reached by its own Node alone, and reaches nobody.
fn ensure_closed(stage: &Stage<'_>, pod: &Peer) -> Result<()> {
    let mut all = ways(stage, pod, Verdict::Denied)?;
    all.extend(between(&stage.services.here.network, pod, "tcp/8080 udp/8080", Verdict::Allowed)?);
    expected::ensure(&all).context("a Pod that is not known yet")
}

fn ensure_open(stage: &Stage<'_>, pod: &Peer) -> Result<()> {
    expected::ensure(&ways(stage, pod, Verdict::Allowed)?).context("a Pod that is known again")
}

fn ways<'a>(stage: &'a Stage<'_>, pod: &'a Peer, verdict: Verdict) -> Result<Vec<expected::Expected<'a>>> {
    let mut all = Vec::new();
    for from in ["z-a", "z-b", "there"] {
        all.extend(between(stage.network(from)?, pod, "tcp/8080 udp/8080", verdict)?);
    }
    for to in ["z-a", "z-b"] {
        all.extend(between(&pod.network, stage.pod(to)?, "tcp/8080 udp/8080", verdict)?);
    }
    Ok(all)
}

/// That many controllers, from now on.
fn scale(stage: &Stage<'_>, replicas: u8) -> Result<()> {
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

/// Kills the controller, and waits until there is another.
fn crash(stage: &Stage<'_>) -> Result<()> {
    let restarts = |pod: &Value| pod["status"]["containerStatuses"][0]["restartCount"].as_u64();
    let before = pod(stage)?;
    let node = before["spec"]["nodeName"].as_str().context("a controller on no Node")?.parse()?;
    let namespace = stage.services.cluster.lab.plan().namespace(Place::Node(node))?;
    let here = processes::in_namespace(&namespace)?;
    let controller = here.iter().find(|process| process.program == "antrea-controller");
    let controller = controller.with_context(|| format!("{node} has no antrea-controller"))?;
    kill(Pid::from_raw(controller.pid), Signal::SIGKILL).context("cannot kill the controller")?;
    wait::until(PATIENCE, "the controller to be back", || {
        let now = pod(stage)?;
        let ready = now["status"]["containerStatuses"][0]["ready"] == true;
        Ok(ready && restarts(&now) > restarts(&before))
    })
}

/// Whose certificates agents trust.
fn authority(stage: &Stage<'_>) -> Result<String> {
    let map = stage.api().get(&format!("/api/v1/namespaces/{NAMESPACE}/configmaps/antrea-ca"))?;
    Ok(map["data"]["ca.crt"].as_str().unwrap_or_default().to_owned())
}
