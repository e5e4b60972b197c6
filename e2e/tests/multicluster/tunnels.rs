//! A cluster whose tunnel is not that of the others: nothing crosses, and users are told why.

use std::process::ExitStatus;

use antrea_e2e::install::NAMESPACE;
use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::scenario::{Extent, Part, product};
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};

use super::refusals::wait_for_event;
use super::stage::{PATIENCE, Stage, helm, on_the_stage_of, scale_controller};

#[test]
fn a_cluster_with_another_tunnel_is_named_in_the_others() {
    let name = "a_cluster_with_another_tunnel_is_named_in_the_others";
    on_the_stage_of(Extent::Long(Part::Three), name, |stage| {
        let (a, c) = (stage.a()?, stage.c()?);
        let chart = product()?.chart.display().to_string();
        let setting = ["--reset-then-reuse-values", "--set", "tunnelType=vxlan"];
        change_core(stage, c, &[&["upgrade", "antrea", &chart], setting.as_slice()].concat())?;
        wait_for_event(&a.kubectl, NAMESPACE, &format!("{}-clusterinfo", c.id()), "TunnelDiffers")?;
        let failed = wait_for_check(a, "tunnel: FAILED: Gateways have different tunnels: ")?;
        ensure!(failed.code() == Some(1), "antctl mc check ended with {failed}");
        change_core(stage, c, &["rollback", "antrea"])?;
        wait_for_check(a, "tunnel: passed: geneve on port 6081 in ")?;
        stage.example.wait_for_answers()
    });
}

/// Waits until `antctl mc check` says this; returns how it ended.
fn wait_for_check(member: &Member, says: &str) -> Result<ExitStatus> {
    wait::eventually(PATIENCE, &format!("antctl mc check to say {says:?}"), || {
        let answer = member.antctl.command(&["check"])?.output().context("cannot run antctl")?;
        let text = String::from_utf8_lossy(&answer.stdout);
        ensure!(text.contains(says), "it says {text}");
        Ok(Some(answer.status))
    })
}

/// Has helm change the release of core Antrea in a cluster, and waits until the agents are there again. Connections of the
/// Multi-cluster controller end with Open vSwitch, whose connection tracking is its own on the lab: it would take minutes to
/// find out about each.
fn change_core(stage: &Stage, member: &Member, words: &[&str]) -> Result<()> {
    helm(stage, member, words)?;
    member.kubectl.rollout(NAMESPACE, "daemonset/antrea-agent", 180)?;
    scale_controller(member, 0)?;
    scale_controller(member, 1)
}
