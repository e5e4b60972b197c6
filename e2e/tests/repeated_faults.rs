//! Agents die over and over while Pods come and go: no connection breaks, and nothing stays behind.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use antrea_e2e::images::AGNHOST_IMAGE;
use antrea_e2e::names::NodeId;
use antrea_e2e::plan::{Families, Install};
use antrea_e2e::scenario::{Extent, request, with_lab};
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::keep_alive::KeepAlive;
use crate::leaks;

const CRASHES: usize = 10;

#[test]
fn ten_crashes_of_agents_while_pods_come_and_go_leave_nothing() {
    let name = "ten_crashes_of_agents_while_pods_come_and_go_leave_nothing";
    let request = antrea_e2e::plan::Request { families: Families::Dual, ..request(Install::Antrea) };
    with_lab(name, Extent::All, &request, |lab| {
        let cluster = Cluster::new(lab)?;
        let workload = cluster.workload(1)?;
        let (here, there) = cluster.two_nodes()?;
        let server = workload.pod_on(there)?.ips.iter().next().copied().context("a Pod without address")?;
        let connection = KeepAlive::start(workload.pod_on(here)?, server)?;
        let rounds = while_pods_come_and_go(&cluster, || {
            [here, there].into_iter().cycle().take(CRASHES).try_for_each(|node| cluster.crash_agent(node))
        })?;
        ensure!(
            rounds >= CRASHES,
            "while agents died {CRASHES} times, Pods came and went only {rounds} times"
        );
        connection.ensure_it_lasted()?;
        cluster.ensure_connected(&workload)?;
        leaks::ensure_none(&cluster)?;
        workload.delete()?;
        leaks::ensure_none(&cluster)
    });
}

/// Does `work` while Pods are created and deleted, and returns how often they were.
fn while_pods_come_and_go(cluster: &Cluster<'_>, work: impl FnOnce() -> Result<()>) -> Result<usize> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let stream = scope.spawn(|| come_and_go(cluster, &done));
        let result = work();
        done.store(true, Ordering::Relaxed);
        let rounds = stream.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))?;
        result.map(|()| rounds)
    })
}

/// A Pod on each Node, again and again. At most one Node is without an agent: its Pod is deleted before it ever ran.
fn come_and_go(cluster: &Cluster<'_>, done: &AtomicBool) -> Result<usize> {
    let (mut rounds, nodes) = (0, &cluster.plan()?.nodes);
    while !done.load(Ordering::Relaxed) {
        rounds += 1;
        let round = format!("round={rounds}");
        let pods: Vec<Value> = nodes.iter().map(|node| pod(rounds, node.id)).collect();
        cluster.kubectl.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": pods }).to_string())?;
        wait::until(Duration::from_secs(120), "one of the Pods of a round to run", || {
            let phases = ["get", "pods", "-l", &round, "-o", "jsonpath={.items[*].status.phase}"];
            Ok(cluster.kubectl.text(&phases)?.contains("Running"))
        })?;
        cluster.kubectl.text(&["delete", "pods", "-l", &round, "--wait=false"])?;
    }
    cluster.kubectl.wait("delete", 180, &["pods", "-l", "round"])?;
    Ok(rounds)
}

fn pod(round: usize, node: NodeId) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": format!("{node}-round{round}"), "labels": { "round": round.to_string() } },
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 0,
            "containers": [
                { "name": "c", "image": AGNHOST_IMAGE, "imagePullPolicy": "IfNotPresent", "args": ["pause"] },
            ],
        },
    })
}
