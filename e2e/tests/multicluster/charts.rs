//! Each product without the other: core Antrea alone, and a leader that has nothing of core Antrea.

use std::fs;

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::install;
use antrea_e2e::lab::Lab;
use antrea_e2e::multicluster::antctl::Antctl;
use antrea_e2e::plan::{Install, Request};
use antrea_e2e::scenario::{Extent, product, request, with_lab};
use anyhow::{Context, Result, ensure};

use super::stage::wait_for_condition;
use crate::cluster::{Cluster, on_the_cluster};

const LEADER: &str = "antrea-multicluster";

#[test]
fn a_leader_needs_nothing_of_core_antrea() {
    let request = Request { nodes: 1, ..request(Install::Bridge) };
    with_lab("a_leader_needs_nothing_of_core_antrea", Extent::Standard, &request, |lab| {
        let product = product()?.multicluster;
        let cluster = lab.plan().clusters.first().context("the lab has no cluster")?;
        let kubectl = lab.kubectl(cluster.id)?;
        install::load(&lab.plan().name, cluster, &product.images)?;
        let leader = product.clone().with(cluster.id, "mode=leader");
        install::multicluster::into(lab.programs(), &kubectl, cluster, &leader, LEADER)?;
        let antctl = Antctl::new(&product.programs, &kubectl);
        antctl.text(&["init", "--clusterset", "alone", "--clusterid", "leader", "-n", LEADER])?;
        let alone = ["clusterset", "alone", "-n", LEADER];
        wait_for_condition(&kubectl, &alone, ("Ready", "Unknown", Some("NoReadyCluster")))?;
        ensure_no_kinds(lab, "crd.antrea.io", &["multicluster.crd.antrea.io"])
    });
}

#[test]
fn core_antrea_needs_nothing_of_multicluster() {
    on_the_cluster("core_antrea_needs_nothing_of_multicluster", |cluster| {
        ensure_no_kinds(cluster.lab, "multicluster", &[])?;
        let copy = std::env::temp_dir().join(format!("antrea-chart-{}", std::process::id()));
        command("cp", &["-r", &cluster.product.chart.display().to_string(), &copy.display().to_string()])
            .run()?;
        let (there, alone) = (
            render(cluster, &cluster.product.chart.display().to_string()),
            render(cluster, &copy.display().to_string()),
        );
        fs::remove_dir_all(&copy).with_context(|| format!("cannot remove {}", copy.display()))?;
        ensure!(there? == alone?, "the chart reads files beside it");
        Ok(())
    });
}

fn render(cluster: &Cluster<'_>, chart: &str) -> Result<String> {
    cluster.helm(&["template", "antrea", chart])?.text()
}

/// No CustomResourceDefinition is of a group that ends so.
fn ensure_no_kinds(lab: &Lab, group: &str, but: &[&str]) -> Result<()> {
    let cluster = lab.plan().clusters.first().context("the lab has no cluster")?;
    let kinds = lab.kubectl(cluster.id)?.text(&["get", "customresourcedefinitions", "-o", "name"])?;
    let found: Vec<&str> = kinds
        .lines()
        .filter(|kind| kind.contains(group) && !but.iter().any(|but| kind.contains(but)))
        .collect();
    ensure!(found.is_empty(), "there are {found:?}");
    Ok(())
}
