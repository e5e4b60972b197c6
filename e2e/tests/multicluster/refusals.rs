//! What cannot be exported: a condition says so, and an Event.

use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::multicluster::nginx;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::stage::{on_the_stage, until, wait_for_condition};

#[test]
fn an_export_without_service_says_so_in_a_condition_and_an_event() {
    on_the_stage("an_export_without_service_says_so_in_a_condition_and_an_event", |stage| {
        let kubectl = &stage.b()?.kubectl;
        kubectl.apply(&nginx::export("missing").to_string())?;
        wait_for_condition(kubectl, &["serviceexport", "missing"], ("Valid", "False", Some("NoService")))?;
        wait_for_event(kubectl, "default", "missing", "NoService")?;
        kubectl.text(&["delete", "serviceexport", "missing"]).map(drop)
    });
}

#[test]
fn invalid_objects_are_refused_by_field() {
    on_the_stage("invalid_objects_are_refused_by_field", |stage| {
        let leader = &stage.a()?.kubectl;
        let area = antrea_e2e::multicluster::cluster_set::COMMON_AREA;
        let of_set =
            |spec: Value| json!({ "metadata": { "name": "second", "namespace": area }, "spec": spec });
        let set = of_set(json!({ "clusterID": "Not An ID", "leaders": [{ "clusterID": "a" }] }));
        ensure_refused(leader, "multicluster.crd.antrea.io/v1alpha2", "ClusterSet", set, "clusterID")?;
        let export =
            of_set(json!({ "kind": "Service", "name": "a", "namespace": "Not_A_Name", "clusterID": "b" }));
        ensure_refused(leader, "multicluster.crd.antrea.io/v1alpha1", "ResourceExport", export, "namespace")
    });
}

fn ensure_refused(
    kubectl: &Kubectl,
    version: &str,
    kind: &str,
    mut object: Value,
    field: &str,
) -> Result<()> {
    object["apiVersion"] = version.into();
    object["kind"] = kind.into();
    let refused = kubectl.apply(&object.to_string());
    let Err(error) = refused else { anyhow::bail!("{object} was taken") };
    ensure!(format!("{error:#}").contains(field), "it does not name {field}: {error:#}");
    Ok(())
}

/// Waits until a warning about a ServiceExport is there.
pub(super) fn wait_for_event(kubectl: &Kubectl, namespace: &str, export: &str, reason: &str) -> Result<()> {
    let selector = format!("--field-selector=involvedObject.name={export},reason={reason},type=Warning");
    until(&format!("a warning of {export} with reason {reason}"), || {
        let events = kubectl.text(&["get", "events", "-n", namespace, &selector, "-o", "name"])?;
        ensure!(!events.is_empty(), "there is none");
        Ok(())
    })
}
