//! `helm upgrade` and `helm rollback` while Pods talk.

use antrea_e2e::command::Run as _;
use antrea_e2e::scenario::{Extent, Part};
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::cluster::{Cluster, NAMESPACE, on_the_cluster_of};
use crate::ovs_absences;
use crate::traffic::{Traffic, ensure_lost_only_during};

#[test]
fn an_upgrade_and_its_rollback_lose_packets_only_while_open_vswitch_restarts() {
    on_the_cluster_of(
        Extent::Long(Part::One),
        "an_upgrade_and_its_rollback_lose_packets_only_while_open_vswitch_restarts",
        |cluster| {
            let workload = cluster.workload(2)?;
            let traffic = Traffic::start(cluster, &workload)?;
            let ((), absences) = ovs_absences::during(cluster, || upgrade_and_roll_back(cluster))?;
            let windows: Vec<_> = absences.iter().map(|absence| absence.window).collect();
            ensure_lost_only_during(&windows, &traffic.end()?)?;
            for node in &cluster.plan()?.nodes {
                let times = windows.iter().filter(|window| window.node == node.id).count();
                ensure!(times == 2, "Open vSwitch of {} was away {times} times, not twice", node.id);
            }
            cluster.ensure_connected(&workload)?;
            workload.delete()
        },
    );
}

/// An upgrade that concerns the controller alone, one that replaces agents, and the way back from both.
fn upgrade_and_roll_back(cluster: &Cluster<'_>) -> Result<()> {
    let begun_with = revision(cluster)?;
    let agents = agents(cluster)?;
    upgrade(cluster, "controller.podAnnotations.upgraded=controller")?;
    ensure!(self::agents(cluster)? == agents, "an upgrade of the controller replaced agents");
    upgrade(cluster, "agent.podAnnotations.upgraded=agent")?;
    let upgraded = self::agents(cluster)?;
    ensure!(upgraded.iter().all(|agent| !agents.contains(agent)), "not all of {agents:?} were replaced");
    cluster.helm(&["rollback", "antrea", &begun_with])?.run()?;
    wait_for_rollout(cluster)?;
    let rolled_back = self::agents(cluster)?;
    ensure!(rolled_back.iter().all(|agent| !upgraded.contains(agent)), "{upgraded:?} were not rolled back");
    Ok(())
}

fn upgrade(cluster: &Cluster<'_>, setting: &str) -> Result<()> {
    let chart = cluster.product.chart.display().to_string();
    let words = ["upgrade", "antrea", &chart, "--reset-then-reuse-values", "--set", setting];
    cluster.helm(&words)?.run()?;
    wait_for_rollout(cluster)
}

fn wait_for_rollout(cluster: &Cluster<'_>) -> Result<()> {
    cluster.kubectl.rollout(NAMESPACE, "deployment/antrea-controller", 180)?;
    cluster.kubectl.rollout(NAMESPACE, "daemonset/antrea-agent", 180)
}

/// The Pods of all agents, by Node.
fn agents(cluster: &Cluster<'_>) -> Result<Vec<String>> {
    cluster.plan()?.nodes.iter().map(|node| Ok(cluster.agent(node.id)?.pod)).collect()
}

fn revision(cluster: &Cluster<'_>) -> Result<String> {
    let said = cluster.helm(&["history", "antrea", "--max=1", "--output=json"])?.text()?;
    let history: Value =
        serde_json::from_str(&said).with_context(|| format!("helm prints no JSON: {said}"))?;
    let revision = history[0]["revision"].as_u64();
    Ok(revision.with_context(|| format!("helm prints no revision: {said}"))?.to_string())
}
