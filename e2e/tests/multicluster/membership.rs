//! A member leaves and comes back.

use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member, cluster_id};
use antrea_e2e::multicluster::nginx::{IMPORTED, SERVICE};
use antrea_e2e::scenario::{Extent, Part};
use anyhow::{Result, ensure};

use super::stage::{SET, Stage, on_the_stage, on_the_stage_of, scale_controller, until, wait_for_condition};

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
        ensure!(message.contains("antctl mc leave --now"), "it says {message:?}");
        scale_controller(c, 0)?;
        scale_controller(c, 1)?;
        wait_for_condition(&c.kubectl, &SET, ("Ready", "False", Some("Leaving")))?;
        ensure!(!exports_of(stage, c)?.is_empty(), "what {} exported went without the leader", c.id());
        scale_controller(a, 1)?;
        c.kubectl.wait("delete", 60, &SET)?;
        until(&format!("nothing of {} to be left", c.id()), || {
            let left = exports_of(stage, c)?;
            ensure!(left.is_empty(), "there is {left}");
            Ok(())
        })?;
        stage.wait_for_endpoints(SERVICE, &both[..1])?;
        c.join()?;
        stage.wait_for_endpoints(SERVICE, &both)?;
        c.wait_for_gateways(stage.members().len() - 1)?;
        stage.example.wait_for_answers()
    });
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
