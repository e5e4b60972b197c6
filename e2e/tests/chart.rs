//! The chart's life: its test, an upgrade, an uninstallation that cleans up, and an installation after it.

use std::collections::BTreeSet;

use antrea_e2e::command::Run as _;
use antrea_e2e::install;
use antrea_e2e::names::NodeId;
use antrea_e2e::plan::NodePlan;
use antrea_e2e::scenario::{Extent, Part};
use anyhow::{Context, Result, ensure};

use crate::cluster::{Cluster, NAMESPACE, on_the_cluster, on_the_cluster_of};

#[test]
fn helm_test_passes() {
    on_the_cluster("helm_test_passes", |cluster| {
        let said = cluster.helm(&["test", "antrea", "--timeout=120s"])?.text()?;
        ensure!(said.contains("Succeeded"), "helm test says: {said}");
        Ok(())
    });
}

#[test]
fn a_chart_upgrade_and_uninstall_leave_only_what_they_should() {
    on_the_cluster_of(
        Extent::Long(Part::Two),
        "a_chart_upgrade_and_uninstall_leave_only_what_they_should",
        |cluster| {
            let workload = cluster.workload(1)?;
            upgrade(cluster)?;
            cluster.ensure_connected(&workload)?;
            workload.delete()?;
            uninstall(cluster)?;
            install::antrea(cluster.lab.programs(), &cluster.kubectl, cluster.plan()?, &cluster.product)
                .context("Antrea cannot be installed again")?;
            // It ran on through the uninstallation, with an interface that leads nowhere now.
            cluster.kubectl.text(&["rollout", "restart", "-n", NAMESPACE, "deployment/coredns"])?;
            cluster.kubectl.rollout(NAMESPACE, "deployment/coredns", 120)?;
            let workload = cluster.workload(1)?;
            cluster.ensure_connected(&workload)?;
            workload.delete()
        },
    );
}

fn upgrade(cluster: &Cluster<'_>) -> Result<()> {
    let (node, _) = cluster.two_nodes()?;
    let before = cluster.agent(node)?;
    let chart = cluster.product.chart.display().to_string();
    let words = ["upgrade", "antrea", &chart, "--reset-then-reuse-values", "--set", "logVerbosity=2"];
    cluster.helm(&words)?.run()?;
    cluster.kubectl.rollout(NAMESPACE, "daemonset/antrea-agent", 180)?;
    ensure!(cluster.agent(node)?.pod != before.pod, "the agent of {node} was not replaced");
    Ok(())
}

fn uninstall(cluster: &Cluster<'_>) -> Result<()> {
    let nodes = &cluster.plan()?.nodes;
    let routes = |link: &str| -> Result<Vec<BTreeSet<String>>> {
        nodes.iter().map(|node| routes_of(cluster, node.id, link)).collect()
    };
    let before = routes("br-phy")?;
    cluster.helm(&["uninstall", "antrea", "--timeout=180s"])?.run()?;
    for node in nodes {
        ensure_clean(cluster, node.id)?;
        ensure_addresses_are_back(cluster, node)?;
    }
    let after = routes("eth1")?;
    ensure!(before == after, "routes were over br-phy:\n{before:?}\nand are over eth1:\n{after:?}");
    let kinds = cluster.kubectl.text(&["get", "customresourcedefinitions", "-o", "name"])?;
    ensure!(kinds.contains("tiers.crd.antrea.io"), "CustomResourceDefinitions are gone: {kinds}");
    ensure!(!cluster.kubectl.text(&["get", "tiers", "-o", "name"])?.is_empty(), "Tiers are gone");
    Ok(())
}

/// Nothing of the product is on a Node.
fn ensure_clean(cluster: &Cluster<'_>, node: NodeId) -> Result<()> {
    let traces = [
        ("iptables-save", ["iptables-save"].as_slice(), "ANTREA"),
        ("ip6tables-save", &["ip6tables-save"], "ANTREA"),
        ("ipset", &["ipset", "list", "-name"], "ANTREA"),
        ("nft", &["nft", "list", "tables"], "antrea"),
        ("links", &["ip", "-o", "link"], "br-int"),
        ("links", &["ip", "-o", "link"], "br-phy"),
        ("links", &["ip", "-o", "link"], "antrea"),
        ("routes", &["ip", "route"], "antrea"),
        ("routes", &["ip", "-6", "route"], "antrea"),
        ("CNI configuration", &["ls", "/etc/cni/net.d"], "antrea"),
        ("CNI plugins", &["ls", "/opt/cni/bin"], "antrea"),
    ];
    for (what, words, trace) in traces {
        let found = cluster.on_node(node, words)?;
        let lines: Vec<&str> = found.lines().filter(|line| line.contains(trace)).collect();
        ensure!(lines.is_empty(), "{what} of {node} still have {lines:?}");
    }
    Ok(())
}

fn ensure_addresses_are_back(cluster: &Cluster<'_>, node: &NodePlan) -> Result<()> {
    let found = cluster.on_node(node.id, &["ip", "-o", "address", "show", "dev", "eth1"])?;
    for address in node.transport_ips.iter() {
        ensure!(found.contains(&format!(" {address}/")), "eth1 of {} has not {address}: {found}", node.id);
    }
    Ok(())
}

/// Destination and gateway of every route over a link.
fn routes_of(cluster: &Cluster<'_>, node: NodeId, link: &str) -> Result<BTreeSet<String>> {
    let mut text = cluster.on_node(node, &["ip", "route", "show", "dev", link])?;
    text += &cluster.on_node(node, &["ip", "-6", "route", "show", "dev", link])?;
    let route = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let gateway = words.iter().position(|word| *word == "via").and_then(|at| words.get(at + 1));
        Some(format!("{} {}", words.first()?, gateway.unwrap_or(&"")))
    };
    Ok(text.lines().filter_map(route).collect())
}
