//! The controller's certificate is renewed while agents watch: it is when the clock is not what it was, and its process
//! gets a clock of its own (libfaketime).

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_e2e::scenario::{Extent, Part};
use antrea_e2e::{packages, wait};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::controllers::{self, count_in_logs_of_agents};
use super::stage::{Stage, on_the_stage_of};
use super::streams::{Streams, busy};
use crate::cluster::NAMESPACE;

/// Debian's, for programs with several threads.
const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// On Nodes and in the controller's container: the library, and how far its clock is off.
const FOLDER: &str = "/run/antrea-e2e-clock";

/// The controller looks at its certificate once a minute.
const RENEWAL: Duration = Duration::from_secs(90);

/// Of an agent: policies, and groups of two kinds.
const WATCHES: usize = 3;

const TO_Z_B: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: to-z-b, namespace: z}
spec: {podSelector: {matchLabels: {app: z-b}}, policyTypes: [Ingress]}";

#[test]
fn agents_go_on_with_their_watches_when_the_certificate_of_the_controller_is_renewed() {
    let name = "agents_go_on_with_their_watches_when_the_certificate_of_the_controller_is_renewed";
    on_the_stage_of(Extent::Long(Part::Two), name, |stage| {
        packages::ensure(&["libfaketime"])?;
        on_nodes(stage, &format!("mkdir {FOLDER}; cp {LIBRARY} {FOLDER}/library"))?;
        set_clock(stage, "+0")?;
        let patch = with_a_clock_of_its_own().to_string();
        replace(stage, &["patch", "deployment", "antrea-controller", "--patch", &patch])?;
        let streams = Streams::of_an_isolated_namespace(stage)?;
        streams.ensure_hold_during(|| renew(stage), |time| busy(stage, time))?;
        replace(stage, &["rollout", "undo", "deployment/antrea-controller"])
    });
}

/// By the new time, the certificate is of the future.
fn renew(stage: &Stage<'_>) -> Result<()> {
    let (certificate, watches) = (shown(stage)?, watches(stage)?);
    set_clock(stage, "-1h")?;
    wait::until(RENEWAL, "another certificate", || Ok(shown(stage)? != certificate))?;
    stage.apply(TO_Z_B)?;
    stage.ensure("x-b z-a -> z-b tcp/8080: denied")?;
    ensure!(self::watches(stage)? == watches, "a watch has begun anew");
    Ok(())
}

/// How far the controller's clock is off.
fn set_clock(stage: &Stage<'_>, offset: &str) -> Result<()> {
    on_nodes(stage, &format!("echo {offset} > {FOLDER}/new; mv {FOLDER}/new {FOLDER}/offset"))
}

/// The controller may be on either.
fn on_nodes(stage: &Stage<'_>, script: &str) -> Result<()> {
    for host in [&stage.services.here, &stage.services.there] {
        stage.services.cluster.on_node(host.node, &["sh", "-ec", script])?;
    }
    Ok(())
}

fn with_a_clock_of_its_own() -> Value {
    let env = [
        ("LD_PRELOAD", format!("{FOLDER}/library")),
        ("FAKETIME_TIMESTAMP_FILE", format!("{FOLDER}/offset")),
        ("FAKETIME_CACHE_DURATION", "1".to_owned()),
        // What takes a minute goes on to take a minute.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    let env: Vec<Value> =
        env.into_iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let mount = json!({ "name": "clock", "mountPath": FOLDER, "readOnly": true });
    json!({ "spec": { "template": { "spec": {
        "volumes": [{ "name": "clock", "hostPath": { "path": FOLDER } }],
        "containers": [{ "name": "antrea-controller", "env": env, "volumeMounts": [mount] }],
    } } } })
}

/// Has another controller, by a command of kubectl, which agents watch when this returns.
fn replace(stage: &Stage<'_>, command: &[&str]) -> Result<()> {
    let kubectl = &stage.services.cluster.kubectl;
    let before = watches(stage)?;
    kubectl.text(&[command, &["-n", NAMESPACE]].concat())?;
    let status = ["rollout", "status", "deployment/antrea-controller", "-n", NAMESPACE, "--timeout=60s"];
    kubectl.text(&status)?;
    wait::until(RENEWAL, "agents to watch", || {
        let now = watches(stage)?;
        Ok(before.iter().all(|(pod, count)| now[pod] >= count + WATCHES))
    })
}

/// How often each agent has begun to watch.
fn watches(stage: &Stage<'_>) -> Result<BTreeMap<String, usize>> {
    count_in_logs_of_agents(stage, "Watch of antrea-controller begins")
}

/// The certificate of the controller, and that of its authority.
fn shown(stage: &Stage<'_>) -> Result<String> {
    let pod = controllers::pod(stage)?;
    let ip = pod["status"]["podIP"].as_str().context("a controller without address")?;
    let ip = if ip.contains(':') { format!("[{ip}]") } else { ip.to_owned() };
    let url = format!("https://{ip}:10349/healthz");
    let curl = ["curl", "-gsSk", "--max-time", "10", "-o", "/dev/null", "-w", "%{certs}", &url];
    let shown = stage.services.cluster.on_node(stage.services.there.node, &curl)?;
    ensure!(shown.contains("BEGIN CERTIFICATE"), "no certificate: {shown}");
    Ok(shown)
}
