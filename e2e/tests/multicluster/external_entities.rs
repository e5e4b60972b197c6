//! ExternalEntities pass through the Common Area as upstream's do: they are merged, and no member imports them.

use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::stage::{on_the_stage, until, wait_for_condition};

const IMPORT: &str = "default-vm-externalentity";

#[test]
fn of_external_entities_with_one_name_the_older_one_is_that_of_the_clusterset() {
    on_the_stage("of_external_entities_with_one_name_the_older_one_is_that_of_the_clusterset", |stage| {
        let (leader, older, younger) = (&stage.a()?.kubectl, stage.b()?, stage.c()?);
        let export = |member: &Member| format!("vm-of-{}", member.id());
        let taken = ("Succeeded", "True", None);
        let refused = ("Failure", "False", Some("ConvergeFailure"));
        for (member, ip, answer) in [(older, "192.0.2.1", taken), (younger, "192.0.2.2", refused)] {
            leader.apply(&external_entity(&export(member), member, ip).to_string())?;
            wait_for_condition(leader, &["resourceexport", &export(member), "-n", COMMON_AREA], answer)?;
        }
        wait_for_import(stage.a()?, &json!("192.0.2.1"))?;
        leader.text(&["delete", "resourceexport", "-n", COMMON_AREA, &export(older)])?;
        wait_for_import(stage.a()?, &json!("192.0.2.2"))?;
        wait_for_condition(leader, &["resourceexport", &export(younger), "-n", COMMON_AREA], taken)?;
        leader.text(&["delete", "resourceexport", "-n", COMMON_AREA, &export(younger)])?;
        leader.wait("delete", 60, &["resourceimport", IMPORT, "-n", COMMON_AREA])
    });
}

/// Waits until the ClusterSet has the entity with this address.
fn wait_for_import(leader: &Member, ip: &Value) -> Result<()> {
    until(&format!("the entity with address {ip}"), || {
        let import = leader.kubectl.json(&["get", "resourceimport", IMPORT, "-n", COMMON_AREA])?;
        let endpoints = &import["spec"]["externalentity"]["externalentityspec"]["endpoints"];
        ensure!(endpoints[0]["ip"] == *ip, "it has {endpoints}");
        Ok(())
    })
}

fn external_entity(name: &str, of: &Member, ip: &str) -> Value {
    json!({
        "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
        "kind": "ResourceExport",
        "metadata": { "name": name, "namespace": COMMON_AREA },
        "spec": {
            "kind": "ExternalEntity",
            "clusterID": of.id(),
            "namespace": "default",
            "name": "vm",
            "externalEntity": { "externalEntitySpec": { "endpoints": [{ "ip": ip }] } },
        },
    })
}
