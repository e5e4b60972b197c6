//! A member leaves and comes back.

use antrea_e2e::install::NAMESPACE;
use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member, NAME, cluster_id};
use antrea_e2e::multicluster::nginx::{IMPORTED, SERVICE};
use antrea_e2e::scenario::{Extent, Part};
use anyhow::{Result, ensure};

use super::stage::{
    SET, Stage, helm, install, on_the_stage, on_the_stage_of, scale_controller, until, wait_for_condition,
};

/// Where there could be something that is left of an installation.
const INSTALLED: &str = "jobs,pods,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,\
                         validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies";

#[test]
fn a_member_that_leaves_loses_what_was_imported_and_gets_it_back_when_it_rejoins() {
    on_the_stage("a_member_that_leaves_loses_what_was_imported_and_gets_it_back_when_it_rejoins", |stage| {
        let (b, c) = (stage.b()?, stage.c()?);
        let both = [stage.exported_ip(b)?, stage.exported_ip(c)?];
        c.leave()?;
        wait_for_services(stage, "")?;
        stage.wait_for_endpoints(SERVICE, &both[..1])?;
        let pending =
            wait_for_condition(&c.kubectl, &["serviceexport", SERVICE], ("Ready", "False", Some("Pending")))?;
        let message = pending["message"].as_str().unwrap_or_default();
        ensure!(message.contains("ClusterSet"), "it says {message:?}");
        c.join()?;
        wait_for_services(stage, &format!("service/{IMPORTED}\n"))?;
        stage.wait_for_endpoints(SERVICE, &both)?;
        c.wait_for_gateways(stage.members().len() - 1)?;
        wait_for_condition(&c.kubectl, &["serviceexport", SERVICE], ("Ready", "True", None))?;
        stage.example.wait_for_answers()
    });
}

/// Also when its own controller is started again before the leader is back: what has to be told stands in the cluster.
#[test]
fn a_member_that_leaves_while_the_leader_is_away_goes_at_once_and_tells_it_later() {
    let name = "a_member_that_leaves_while_the_leader_is_away_goes_at_once_and_tells_it_later";
    on_the_stage_of(Extent::Long(Part::One), name, |stage| {
        let (a, b, c) = (stage.a()?, stage.b()?, stage.c()?);
        let both = [stage.exported_ip(b)?, stage.exported_ip(c)?];
        scale_controller(a, 0)?;
        c.kubectl.text(&[&["delete", "--wait=false"], SET.as_slice()].concat())?;
        wait_for_services(stage, "")?;
        let leaving = wait_for_condition(&c.kubectl, &SET, ("Ready", "False", Some("Leaving")))?;
        let message = leaving["message"].as_str().unwrap_or_default();
        let at_once = format!("antctl mc leave --clusterset {NAME} --namespace {NAMESPACE} --now");
        ensure!(message.contains(&at_once), "it says {message:?}");
        scale_controller(c, 0)?;
        scale_controller(c, 1)?;
        wait_for_condition(&c.kubectl, &SET, ("Ready", "False", Some("Leaving")))?;
        ensure!(!exports_of(stage, c)?.is_empty(), "what {} exported went without the leader", c.id());
        scale_controller(a, 1)?;
        c.kubectl.wait("delete", 60, &SET)?;
        wait_for_nothing_left(stage, c)?;
        stage.wait_for_endpoints(SERVICE, &both[..1])?;
        join_again(stage, c, &both)
    });
}

/// Nobody tells the leader then: its admin removes what is left there.
#[test]
fn a_member_whose_controller_is_gone_leaves_at_once() {
    let name = "a_member_whose_controller_is_gone_leaves_at_once";
    on_the_stage_of(Extent::Long(Part::Three), name, |stage| {
        let c = stage.c()?;
        let both = [stage.exported_ip(stage.b()?)?, stage.exported_ip(c)?];
        scale_controller(c, 0)?;
        c.antctl.text(&["leave", "--clusterset", NAME, "--now"])?;
        ensure_it_has_left(stage, c)?;
        scale_controller(c, 1)?;
        join_again(stage, c, &both)?;

        helm(stage, c, &["uninstall", "antrea-mc", "--timeout=180s"])?;
        let all = c.kubectl.text(&["get", INSTALLED, "--all-namespaces", "-o", "name"])?;
        let left: Vec<&str> = all.lines().filter(|name| name.contains("antrea-mc")).collect();
        ensure!(left.is_empty(), "the chart leaves {left:?}");
        c.kubectl.text(&[&["delete", "--timeout=10s"], SET.as_slice()].concat())?;
        ensure_it_has_left(stage, c)?;
        install(stage, c)?;
        join_again(stage, c, &both)
    });
}

/// It has no ClusterSet, and once the admin of the leader has removed its announce, the leader has nothing of it.
fn ensure_it_has_left(stage: &Stage, member: &Member) -> Result<()> {
    let left =
        member.kubectl.text(&[&["get", "--ignore-not-found", "-o", "name"], SET.as_slice()].concat())?;
    ensure!(left.is_empty(), "{} still has {left}", member.id());
    ensure!(!exports_of(stage, member)?.is_empty(), "who has told the leader that {} leaves?", member.id());
    let announce = ["delete", "memberclusterannounce", "-n", COMMON_AREA, &member.announce_name()];
    stage.a()?.kubectl.text(&announce)?;
    wait_for_nothing_left(stage, member)
}

/// Waits until the leader has nothing of a member.
fn wait_for_nothing_left(stage: &Stage, member: &Member) -> Result<()> {
    until(&format!("nothing of {} to be left", member.id()), || {
        let left = exports_of(stage, member)?;
        ensure!(left.is_empty(), "there is {left}");
        Ok(())
    })
}

/// C comes back, and with it these endpoints of the Service.
fn join_again(stage: &Stage, c: &Member, both: &[String]) -> Result<()> {
    c.join()?;
    stage.wait_for_endpoints(SERVICE, both)?;
    c.wait_for_gateways(stage.members().len() - 1)?;
    stage.example.wait_for_answers()
}

/// The announce of a member and what it exports, by name.
fn exports_of(stage: &Stage, member: &Member) -> Result<String> {
    let kinds = "memberclusterannounces,resourceexports";
    let all = stage.a()?.kubectl.text(&["get", kinds, "-n", COMMON_AREA, "-o", "name"])?;
    let id = member.id();
    let own = all.lines().filter(|name| {
        name.contains(&format!("/{id}-")) || name.ends_with(&format!("/{}", member.announce_name()))
    });
    Ok(own.collect::<Vec<_>>().join(" "))
}

/// Waits until C has these imported Services.
fn wait_for_services(stage: &Stage, expected: &str) -> Result<()> {
    let c = stage.c()?;
    until(&format!("{} to have the imported Services {expected:?}", cluster_id(c.cluster)), || {
        let found = c.kubectl.text(&["get", "service", IMPORTED, "--ignore-not-found", "-o", "name"])?;
        ensure!(found == expected, "it has {found:?}");
        Ok(())
    })
}
