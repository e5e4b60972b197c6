//! A cluster that wants connectivity alone: antrea-controller is taken away by the chart, and installed again.

use std::time::Duration;

use antrea_e2e::command::Run as _;
use antrea_e2e::connectivity;
use anyhow::{Result, ensure};
use serde_json::Value;

use super::stage::{Stage, on_the_stage};
use crate::cluster::NAMESPACE;

const AGENTS: &str = "daemonset/antrea-agent";
const ROLLOUT_SECONDS: u32 = 240;

/// With the agents Open vSwitch was started again, and with it connection tracking, which is its own on the lab: CoreDNS may
/// notice as late as 45 s after (client-go's checks of HTTP/2 connections) that it no longer hears of new Services.
const UNTIL_NAMES_ARE_KNOWN: Duration = Duration::from_secs(60);

const TO_Z_B: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: to-z-b, namespace: z}
spec: {podSelector: {matchLabels: {app: z-b}}, policyTypes: [Ingress]}";

#[test]
fn without_antrea_controller_pods_are_connected_and_open_until_it_is_installed_again() {
    let name = "without_antrea_controller_pods_are_connected_and_open_until_it_is_installed_again";
    on_the_stage(name, |stage| {
        stage.apply(TO_Z_B)?;
        stage.ensure("x-b z-a -> z-b tcp/8080: denied")?;
        upgrade(stage, "controller.enable=false", &[AGENTS])?;
        stage.ensure("x-b z-a -> z-b tcp/8080: allowed")?;
        ensure_new_pods_are_open(stage)?;
        ensure_nothing_is_left(stage)?;
        ensure_it_is_told(stage)?;
        upgrade(stage, "controller.enable=true", &["deployment/antrea-controller", AGENTS])?;
        stage.ensure("x-b z-a -> z-b tcp/8080: denied")
    });
}

/// Upgrades the chart with a value, and waits until these have taken it.
fn upgrade(stage: &Stage<'_>, value: &str, workloads: &[&str]) -> Result<()> {
    let cluster = &stage.services.cluster;
    let chart = cluster.product.chart.display().to_string();
    cluster.helm(&["upgrade", "antrea", &chart, "--reset-then-reuse-values", "--set", value])?.run()?;
    workloads.iter().try_for_each(|workload| cluster.kubectl.rollout(NAMESPACE, workload, ROLLOUT_SECONDS))
}

fn ensure_new_pods_are_open(stage: &Stage<'_>) -> Result<()> {
    let cluster = &stage.services.cluster;
    let workload = cluster.workload(1)?;
    let report = connectivity::check(cluster.lab, cluster.plan()?.id, &workload, UNTIL_NAMES_ARE_KNOWN)?;
    report.ensure_holds()?;
    workload.delete()
}

fn ensure_nothing_is_left(stage: &Stage<'_>) -> Result<()> {
    let kinds = "deployments,services,serviceaccounts,roles,rolebindings";
    let names = "-o=jsonpath={.items[*].metadata.name}";
    let kubectl = &stage.services.cluster.kubectl;
    let mut left = kubectl.text(&["get", kinds, "-n", NAMESPACE, "-l", "app=antrea", names])?;
    left += " ";
    left +=
        &kubectl.text(&["get", "clusterroles,clusterrolebindings,apiservices", "-l", "app=antrea", names])?;
    let of_controller =
        |name: &&str| *name == "antrea" || name.starts_with("antrea-c") || name.ends_with(".antrea.io");
    let left: Vec<&str> = left.split_whitespace().filter(of_controller).collect();
    ensure!(left.is_empty(), "of antrea-controller there are {left:?} left");
    Ok(())
}

fn ensure_it_is_told(stage: &Stage<'_>) -> Result<()> {
    let infos = stage.api().get("/apis/crd.antrea.io/v1beta1/antreaagentinfos")?;
    for info in infos["items"].as_array().into_iter().flatten() {
        let conditions = info["agentConditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let told = conditions.iter().find(|condition| condition["type"] == "ControllerConnectionUp");
        let reason = told.map_or(&Value::Null, |condition| &condition["reason"]);
        ensure!(reason == "NoController", "an AntreaAgentInfo says {conditions:?}");
    }
    let words = ["exec", "-n", NAMESPACE, AGENTS, "-c", "antrea-agent", "--", "antctl", "get"];
    let said = stage.services.cluster.kubectl.text(&[&words[..], &["agentinfo"]].concat())?;
    ensure!(said.contains("Healthy,NoController"), "antctl says {said}");
    Ok(())
}
