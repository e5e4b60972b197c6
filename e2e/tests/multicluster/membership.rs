//! A member leaves and comes back.

use antrea_e2e::multicluster::cluster_set::cluster_id;
use antrea_e2e::multicluster::nginx::{IMPORTED, SERVICE};
use anyhow::{Result, ensure};

use super::stage::{Stage, on_the_stage, until, wait_for_condition};

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

/// Waits until C has these imported Services.
fn wait_for_services(stage: &Stage, expected: &str) -> Result<()> {
    let c = stage.c()?;
    until(&format!("{} to have the imported Services {expected:?}", cluster_id(c.cluster)), || {
        let found = c.kubectl.text(&["get", "service", IMPORTED, "--ignore-not-found", "-o", "name"])?;
        ensure!(found == expected, "it has {found:?}");
        Ok(())
    })
}
