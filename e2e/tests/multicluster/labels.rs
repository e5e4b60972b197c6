//! Labels of Pods are known in all clusters, by a number for each set of them.

use antrea_e2e::etcd::Etcd;
use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, LEADER};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::stage::{Stage, on_the_stage, scale_controller, until};

/// Upstream's name for [`labels`]`("app=labelled,tier=db")`: the beginning of its SHA-1.
const NAME: &str = "8e6cc434bc229b2e";

/// The labels of a Pod that goes while no leader is there, and upstream's name for them.
const ORPHANED: (&str, &str) = ("app=orphaned", "878e20907a42f068");

#[test]
fn labels_of_pods_have_one_number_in_all_clusters_until_the_last_of_these_pods_goes() {
    on_the_stage(
        "labels_of_pods_have_one_number_in_all_clusters_until_the_last_of_these_pods_goes",
        |stage| {
            let (a, b, c) = (&stage.a()?.kubectl, &stage.b()?.kubectl, &stage.c()?.kubectl);
            let (ours, others) = (json!({ "tier": "db", "app": "labelled" }), json!({ "app": "other" }));
            for name in ["first", "second"] {
                b.apply(&pod(name, &ours).to_string())?;
            }
            let number = wait_for_number(a, "app=labelled,tier=db")?;
            let there = wait_for_number(c, "app=labelled,tier=db")?;
            ensure!(number == there && number > 0, "it is {number} in A and {there} in C");
            let named = a.text(&["get", "labelidentities", NAME, "-o", "jsonpath={.spec.id}"])?;
            ensure!(named == number.to_string(), "{NAME} has number {named}");
            b.text(&["delete", "pod", "first"])?;
            // What comes later was not seen earlier.
            b.apply(&pod("third", &others).to_string())?;
            let other = wait_for_number(a, "app=other")?;
            let kept = find(a, "app=labelled,tier=db")?;
            ensure!(
                kept == Some(number) && other != number,
                "{number} became {kept:?}; the other one is {other}"
            );
            b.text(&["delete", "pod", "second", "third"])?;
            for (kubectl, pod) in [(a, "app=labelled,tier=db"), (a, "app=other"), (c, "app=labelled,tier=db")]
            {
                wait_for_none(kubectl, pod)?;
            }
            Ok(())
        },
    );
}

#[test]
fn numbers_whose_pods_went_while_no_leader_was_there_go_in_all_clusters() {
    on_the_stage("numbers_whose_pods_went_while_no_leader_was_there_go_in_all_clusters", |stage| {
        let (labels, name) = ORPHANED;
        let (a, c) = (&stage.a()?.kubectl, &stage.c()?.kubectl);
        stage.b()?.kubectl.apply(&pod("orphaned", &json!({ "app": "orphaned" })).to_string())?;
        for kubectl in [a, c] {
            wait_for_number(kubectl, labels)?;
        }
        scale_controller(stage.a()?, 0)?;
        let deleted = delete_without_leader(stage);
        scale_controller(stage.a()?, 1)?;
        deleted?;
        a.wait("delete", 60, &["resourceimport", name, "-n", COMMON_AREA])?;
        [a, c].into_iter().try_for_each(|kubectl| wait_for_none(kubectl, labels))
    });
}

/// The Pod goes, and so does what B has exported of it: past the webhooks, whose program is away. The numbers stay.
fn delete_without_leader(stage: &Stage) -> Result<()> {
    let ((labels, name), b) = (ORPHANED, stage.b()?);
    b.kubectl.text(&["delete", "pod", "orphaned"])?;
    let export = format!("{}-{name}", b.id());
    let key = format!("/registry/multicluster.crd.antrea.io/resourceexports/{COMMON_AREA}/{export}");
    Etcd::of(stage.lab.plan(), LEADER)?.delete(&key)?;
    let (a, c) = (&stage.a()?.kubectl, &stage.c()?.kubectl);
    let get = ["get", "resourceexport", &export, "-n", COMMON_AREA, "--ignore-not-found", "-o", "name"];
    let left = a.text(&get)?;
    ensure!(left.is_empty(), "there is {left}");
    for kubectl in [a, c] {
        ensure!(find(kubectl, labels)?.is_some(), "{labels} was forgotten without the leader");
    }
    Ok(())
}

fn wait_for_number(kubectl: &Kubectl, pod: &str) -> Result<u64> {
    let mut number = None;
    until(&format!("a number for {pod}"), || {
        number = find(kubectl, pod)?;
        ensure!(number.is_some(), "there is none");
        Ok(())
    })?;
    number.context("there is none")
}

fn wait_for_none(kubectl: &Kubectl, pod: &str) -> Result<()> {
    until(&format!("{pod} to be forgotten"), || {
        let found = find(kubectl, pod)?;
        ensure!(found.is_none(), "it is {found:?}");
        Ok(())
    })
}

/// The number of the labels of a Pod in Namespace `default`.
fn find(kubectl: &Kubectl, pod: &str) -> Result<Option<u64>> {
    let identities = kubectl.json(&["get", "labelidentities"])?;
    let labels = labels(pod);
    let found = identities["items"].as_array().into_iter().flatten();
    let found: Vec<&Value> = found.filter(|identity| identity["spec"]["label"] == labels).collect();
    ensure!(found.len() <= 1, "{labels} is there more than once: {found:?}");
    Ok(found.first().and_then(|identity| identity["spec"]["id"].as_u64()))
}

fn labels(pod: &str) -> String {
    format!("ns:kubernetes.io/metadata.name=default&pod:{pod}")
}

/// A Pod that never starts, which does not matter.
fn pod(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "namespace": "default", "labels": labels },
        "spec": {
            "schedulingGates": [{ "name": "example.com/never" }],
            "containers": [{ "name": "none", "image": "none" }],
        },
    })
}
