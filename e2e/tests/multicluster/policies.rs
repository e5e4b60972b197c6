//! A policy of the ClusterSet is in every member, and the leader learns what became of it.

use antrea_e2e::multicluster::cluster_set::COMMON_AREA;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::stage::{Stage, condition, on_the_stage, until, wait_for_condition};

const EXPORT: &str = "no-metadata-service";
const TIER: &str = "late-tier";

#[test]
fn a_policy_is_replicated_and_each_cluster_says_what_became_of_it() {
    on_the_stage("a_policy_is_replicated_and_each_cluster_says_what_became_of_it", |stage| {
        let leader = &stage.a()?.kubectl;
        leader.apply(&export("securityops").to_string())?;
        let policy = ["clusternetworkpolicies.crd.antrea.io", &format!("antrea-mc-{EXPORT}")];
        for member in stage.members() {
            wait_for_condition(&member.kubectl, &policy, ("Realizable", "False", Some("NotEnforced")))?;
        }
        wait_for_reports(stage, "True", "")?;
        leader.apply(&export(TIER).to_string())?;
        wait_for_reports(stage, "False", &format!("Tier {TIER} does not exist"))?;
        for member in stage.members() {
            member.kubectl.apply(&tier().to_string())?;
        }
        wait_for_reports(stage, "True", "")?;
        leader.text(&["delete", "resourceexport", EXPORT, "-n", COMMON_AREA])?;
        for member in stage.members() {
            member.kubectl.wait("delete", 60, &policy)?;
            member.kubectl.text(&["delete", "tier", TIER])?;
        }
        Ok(())
    });
}

/// Waits until every member has reported the same of the policy.
fn wait_for_reports(stage: &Stage, status: &str, message: &str) -> Result<()> {
    let leader = &stage.a()?.kubectl;
    let get = ["get", "resourceimports", "-n", COMMON_AREA];
    until(&format!("all clusters to report Succeeded={status} {message}"), || {
        let imports = leader.json(&get)?;
        let imports = imports["items"].as_array().into_iter().flatten();
        let import =
            imports.into_iter().find(|import| import["spec"]["name"] == EXPORT).cloned().unwrap_or_default();
        let statuses = import["status"]["clusterStatuses"].as_array().cloned().unwrap_or_default();
        let fits = |said: &Value| {
            let said = condition(&json!({ "status": said }), "Succeeded");
            said["status"] == status && said["message"].as_str().unwrap_or_default().contains(message)
        };
        let all = statuses.len() == stage.members().len() && statuses.iter().all(fits);
        ensure!(all, "they report {statuses:?}");
        Ok(())
    })
}

fn export(tier: &str) -> Value {
    json!({
        "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
        "kind": "ResourceExport",
        "metadata": { "name": EXPORT, "namespace": COMMON_AREA },
        "spec": {
            "kind": "AntreaClusterNetworkPolicy",
            "name": EXPORT,
            "clusterNetworkPolicy": {
                "tier": tier,
                "priority": 10,
                "appliedTo": [{ "namespaceSelector": {} }],
                "egress": [{ "action": "Drop", "to": [{ "ipBlock": { "cidr": "169.254.169.254/32" } }] }],
            },
        },
    })
}

fn tier() -> Value {
    json!({
        "apiVersion": "crd.antrea.io/v1beta1",
        "kind": "Tier",
        "metadata": { "name": TIER },
        "spec": { "priority": 42, "description": "made by a test" },
    })
}
