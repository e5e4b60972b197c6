//! For which clusters an import is, an admin of the leader says.

use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member};
use antrea_e2e::multicluster::nginx;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::restarts::service;
use super::stage::{on_the_stage, until};

/// Exported by B.
const SERVICE: &str = "reach";
/// What the leader makes of it.
const IMPORTS: [&str; 2] = ["default-reach-service", "default-reach-endpoints"];
/// What a member makes of that.
const DERIVED: [&str; 2] = ["service/antrea-mc-reach", "serviceimports.multicluster.x-k8s.io/reach"];

#[test]
fn an_import_that_an_admin_gives_to_some_clusters_is_imported_by_these_alone() {
    on_the_stage("an_import_that_an_admin_gives_to_some_clusters_is_imported_by_these_alone", |stage| {
        let (a, b, c) = (stage.a()?, stage.b()?, stage.c()?);
        b.kubectl.apply(&service(SERVICE).to_string())?;
        b.kubectl.apply(&nginx::export(SERVICE).to_string())?;
        stage.members().iter().try_for_each(wait_for_import)?;
        let kept = uids(a)?;
        give_to(a, &json!([a.id()]))?;
        [b, c].into_iter().try_for_each(wait_for_end)?;
        // What the leader writes into an import later leaves alone for whom it is.
        export_another_port(b, a)?;
        ensure_given_to(a, &json!([a.id()]))?;
        for member in [b, c] {
            let found = uids(member)?;
            ensure!(found.iter().all(String::is_empty), "{} has it again: {found:?}", member.id());
        }
        give_to(a, &Value::Null)?;
        stage.members().iter().try_for_each(wait_for_import)?;
        let now = uids(a)?;
        ensure!(now == kept, "{kept:?} of {} became {now:?}", a.id());
        b.kubectl.text(&["delete", &format!("serviceexport/{SERVICE}"), &format!("service/{SERVICE}")])?;
        stage.members().iter().try_for_each(wait_for_end)
    });
}

/// Writes for which clusters the imports are; for all without any.
fn give_to(leader: &Member, clusters: &Value) -> Result<()> {
    let patch = json!({ "spec": { "clusterID": clusters } }).to_string();
    IMPORTS.into_iter().try_for_each(|import| {
        let patch = ["patch", "resourceimport", import, "-n", COMMON_AREA, "--type=merge", "-p", &patch];
        leader.kubectl.text(&patch).map(drop)
    })
}

fn ensure_given_to(leader: &Member, clusters: &Value) -> Result<()> {
    for import in IMPORTS {
        let found = leader.kubectl.json(&["get", "resourceimport", import, "-n", COMMON_AREA])?;
        let found = &found["spec"]["clusterID"];
        ensure!(found == clusters, "{import} is for {found}, not for {clusters}");
    }
    Ok(())
}

/// The Service gets another port, and the importer has it.
fn export_another_port(exporter: &Member, importer: &Member) -> Result<()> {
    let mut changed = service(SERVICE);
    changed["spec"]["ports"] = json!([{ "port": 81 }]);
    exporter.kubectl.apply(&changed.to_string())?;
    until(&format!("the other port of {SERVICE} in {}", importer.id()), || {
        let ports = importer.kubectl.text(&["get", DERIVED[0], "-o", "jsonpath={.spec.ports[*].port}"])?;
        ensure!(ports == "81", "it has {ports}");
        Ok(())
    })
}

fn wait_for_import(member: &Member) -> Result<()> {
    until(&format!("{SERVICE} to be imported in {}", member.id()), || {
        let found = uids(member)?;
        ensure!(!found.iter().any(String::is_empty), "it has {found:?}");
        Ok(())
    })
}

fn wait_for_end(member: &Member) -> Result<()> {
    until(&format!("{SERVICE} to be gone in {}", member.id()), || {
        let found = uids(member)?;
        ensure!(found.iter().all(String::is_empty), "it has {found:?}");
        Ok(())
    })
}

/// The UIDs of what a member makes of the imports: empty where it is not there.
fn uids(member: &Member) -> Result<[String; 2]> {
    let uid =
        |of: &str| member.kubectl.text(&["get", of, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}"]);
    let [service, import] = DERIVED.map(uid);
    Ok([service?, import?])
}
