//! ClusterClaims, the older way to name a cluster and its ClusterSet.

use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::multicluster::cluster_set::{NAME, TOKEN_SECRET};
use antrea_e2e::multicluster::nginx::{IMPORTED, SERVICE};
use antrea_e2e::scenario::{Extent, Part};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::stage::{SET, Stage, on_the_stage_of, until, wait_for_condition};

const NAMESPACE: &str = "kube-system";

#[test]
fn a_cluster_is_called_what_its_clusterclaim_says_for_good() {
    let name = "a_cluster_is_called_what_its_clusterclaim_says_for_good";
    on_the_stage_of(Extent::Long(Part::One), name, |stage| {
        let (b, c) = (stage.b()?, stage.c()?);
        let both = [stage.exported_ip(b)?, stage.exported_ip(c)?];
        let kubectl = &c.kubectl;
        let (set, secret) = (kubectl.json(&[&["get"], SET.as_slice()].concat())?, secret_of(stage)?);
        c.leave()?;
        stage.wait_for_endpoints(SERVICE, &both[..1])?;
        kubectl.wait("delete", 60, &["service", IMPORTED])?;
        kubectl.apply(&secret.to_string())?;
        ensure_refused(kubectl, &without_id(&set))?;
        claim(kubectl, &c.id())?;
        until("the ClusterSet to be taken", || kubectl.apply(&without_id(&set).to_string()))?;
        ensure_called(kubectl, &c.id())?;
        stage.wait_for_endpoints(SERVICE, &both)?;
        claim(kubectl, "another")?;
        let mut renamed = without_id(&set);
        renamed["spec"]["clusterID"] = "another".into();
        ensure_refused(kubectl, &renamed)?;
        ensure_called(kubectl, &c.id())?;
        kubectl.text(&["delete", "clusterclaim", "--all", "-n", NAMESPACE])?;
        c.wait_for_gateways(stage.members().len() - 1)?;
        stage.example.wait_for_answers()
    });
}

/// The token of C as an object that can be written again.
fn secret_of(stage: &Stage) -> Result<Value> {
    let c = stage.c()?;
    let mut secret = c.kubectl.json(&["get", "secret", TOKEN_SECRET, "-n", NAMESPACE])?;
    if let Some(metadata) = secret["metadata"].as_object_mut() {
        metadata.retain(|key, _| ["name", "namespace", "labels", "annotations"].contains(&key.as_str()));
    }
    Ok(secret)
}

/// The ClusterSet of a member in the older version, which does not say who it is.
fn without_id(set: &Value) -> Value {
    let spec = &set["spec"];
    json!({
        "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
        "kind": "ClusterSet",
        "metadata": { "name": NAME, "namespace": NAMESPACE },
        "spec": { "leaders": spec["leaders"], "namespace": spec["namespace"] },
    })
}

fn claim(kubectl: &Kubectl, id: &str) -> Result<()> {
    for (name, value) in [("id.k8s.io", id), ("clusterset.k8s.io", NAME)] {
        let claim = json!({
            "apiVersion": "multicluster.crd.antrea.io/v1alpha2",
            "kind": "ClusterClaim",
            "metadata": { "name": name, "namespace": NAMESPACE },
            "value": value,
        });
        kubectl.apply(&claim.to_string())?;
    }
    Ok(())
}

fn ensure_refused(kubectl: &Kubectl, set: &Value) -> Result<()> {
    let Err(error) = kubectl.apply(&set.to_string()) else { anyhow::bail!("{set} was taken") };
    ensure!(format!("{error:#}").contains("clusterID"), "it is refused otherwise: {error:#}");
    Ok(())
}

/// Waits until it is a member under this name.
fn ensure_called(kubectl: &Kubectl, id: &str) -> Result<()> {
    wait_for_condition(kubectl, &SET, ("Ready", "True", None))?;
    let found = kubectl.text(&[&["get"], SET.as_slice(), &["-o", "jsonpath={.spec.clusterID}"]].concat())?;
    ensure!(found == id, "it is called {found:?}");
    Ok(())
}
