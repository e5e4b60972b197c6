//! What cannot be exported: a condition says so, and an Event.

use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::multicluster::nginx;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::stage::{on_the_stage, until, wait_for_condition};

#[test]
fn an_export_that_cannot_be_says_why_in_a_condition_and_an_event() {
    on_the_stage("an_export_that_cannot_be_says_why_in_a_condition_and_an_event", |stage| {
        let kubectl = &stage.b()?.kubectl;
        kubectl.apply(&external_name("elsewhere").to_string())?;
        for (service, reason) in [("missing", "NoService"), ("elsewhere", "InvalidServiceType")] {
            kubectl.apply(&nginx::export(service).to_string())?;
            wait_for_condition(kubectl, &["serviceexport", service], ("Valid", "False", Some(reason)))?;
            wait_for_event(kubectl, service, reason)?;
        }
        kubectl.text(&["delete", "serviceexport", "missing", "elsewhere"])?;
        kubectl.text(&["delete", "service", "elsewhere"]).map(drop)
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

fn wait_for_event(kubectl: &Kubectl, export: &str, reason: &str) -> Result<()> {
    let selector = format!("--field-selector=involvedObject.name={export},reason={reason},type=Warning");
    until(&format!("a warning of {export} with reason {reason}"), || {
        let events = kubectl.text(&["get", "events", &selector, "-o", "name"])?;
        ensure!(!events.is_empty(), "there is none");
        Ok(())
    })
}

fn external_name(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "type": "ExternalName", "externalName": "example.com" },
    })
}
