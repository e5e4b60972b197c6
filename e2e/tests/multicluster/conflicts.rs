//! Two clusters export one Service with different properties: the older one wins, and both are told.

use antrea_e2e::multicluster::nginx;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::stage::{Stage, on_the_stage, until, wait_for_condition};

const SERVICE: &str = "disputed";

#[test]
fn of_conflicting_exports_the_older_one_wins_and_both_clusters_say_so() {
    on_the_stage("of_conflicting_exports_the_older_one_wins_and_both_clusters_say_so", |stage| {
        export(stage, "None", "ClientIP")?;
        let [b, c] = [&stage.b()?.kubectl, &stage.c()?.kubectl];
        let get = ["serviceexport", SERVICE];
        for kubectl in [b, c] {
            let conflict = wait_for_condition(kubectl, &get, ("Conflict", "True", None))?;
            let reason = conflict["reason"].as_str().unwrap_or_default();
            ensure!(reason.contains("SessionAffinityConflict"), "its reason is {reason:?}");
            let message = conflict["message"].as_str().unwrap_or_default();
            ensure!(message.contains("cluster-b") && message.contains("None"), "it says {message:?}");
        }
        ensure_imported(stage, "None")?;
        c.apply(&service("None").to_string())?;
        for kubectl in [b, c] {
            wait_for_condition(kubectl, &get, ("Conflict", "False", None))?;
        }
        for kubectl in [b, c] {
            kubectl.text(&["delete", "serviceexport,service", SERVICE])?;
        }
        stage.wait_for_endpoints(SERVICE, &[])
    });
}

/// First from B, then from C.
fn export(stage: &Stage, in_b: &str, in_c: &str) -> Result<()> {
    for (member, affinity) in [(stage.b()?, in_b), (stage.c()?, in_c)] {
        member.kubectl.apply(&service(affinity).to_string())?;
        member.kubectl.apply(&nginx::export(SERVICE).to_string())?;
        wait_for_condition(&member.kubectl, &["serviceexport", SERVICE], ("Ready", "True", None))?;
    }
    Ok(())
}

fn ensure_imported(stage: &Stage, affinity: &str) -> Result<()> {
    let kubectl = &stage.a()?.kubectl;
    until(&format!("an import with session affinity {affinity}"), || {
        let import = kubectl.json(&["get", "serviceimports.multicluster.x-k8s.io", SERVICE])?;
        ensure!(import["spec"]["sessionAffinity"] == affinity, "it is {import}");
        Ok(())
    })
}

fn service(affinity: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": SERVICE, "namespace": "default" },
        "spec": { "selector": { "server": "netexec" }, "sessionAffinity": affinity, "ports": [{ "port": 80 }] },
    })
}
