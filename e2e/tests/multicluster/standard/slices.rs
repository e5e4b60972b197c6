//! EndpointSlices of an import: apart for each cluster that exports, with the labels of KEP-1645.

use antrea_e2e::multicluster::cluster_set::Member;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::fixture::with_services;
use super::look::{derived_of, ensure_has, everywhere, unexport};
use super::service::{NAMESPACE, Service, Services, derived};
use crate::multicluster::stage::{Stage, until};

const SERVICE: &str = "slices";

/// What holds wherever Pods are reached.
pub(super) const BEHAVIOURS: [fn(); 1] =
    [endpoint_slices_of_an_import_have_the_labels_of_the_standard_and_go_with_the_export];

pub(super) fn services() -> Services {
    Services { b: vec![Service::exported(SERVICE)], c: vec![Service::exported(SERVICE)] }
}

#[test]
fn endpoint_slices_of_an_import_have_the_labels_of_the_standard_and_go_with_the_export() {
    with_services(
        "endpoint_slices_of_an_import_have_the_labels_of_the_standard_and_go_with_the_export",
        |stage| {
            let (b, c) = (stage.b()?, stage.c()?);
            wait_for_sources(stage, &[&b.id(), &c.id()])?;
            everywhere(stage, |member| {
                let owner = derived_of(member, SERVICE)?;
                slices(member)?.iter().try_for_each(|slice| ensure_is_of_the_standard(slice, &owner))
            })?;
            unexport(b, SERVICE)?;
            wait_for_sources(stage, &[&c.id()])?;
            unexport(c, SERVICE)?;
            wait_for_sources(stage, &[])
        },
    );
}

fn slices(member: &Member) -> Result<Vec<Value>> {
    let selector = format!("multicluster.kubernetes.io/service-name={SERVICE}");
    let mut list = member.kubectl.json(&["get", "endpointslices", "-n", NAMESPACE, "-l", &selector])?;
    Ok(list["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
}

/// Waits until every cluster has a slice with an endpoint for each of these clusters, and no other. They are sorted.
fn wait_for_sources(stage: &Stage, expected: &[&str]) -> Result<()> {
    everywhere(stage, |member| {
        until(&format!("slices of {expected:?} in {}", member.id()), || {
            let slices = slices(member)?;
            let source = |slice: &Value| {
                let label = &slice["metadata"]["labels"]["multicluster.kubernetes.io/source-cluster"];
                label.as_str().unwrap_or_default().to_owned()
            };
            let mut found: Vec<String> = slices.iter().map(source).collect();
            found.sort();
            ensure!(found == expected, "there are slices of {found:?}");
            ensure!(slices.iter().all(|slice| slice["endpoints"][0].is_object()), "one is empty: {slices:?}");
            Ok(())
        })
    })
}

/// Beside those it is found by: its manager is not that of Kubernetes' own slices, and it goes with the derived Service.
fn ensure_is_of_the_standard(slice: &Value, owner: &Value) -> Result<()> {
    let labels = &slice["metadata"]["labels"];
    let manager = labels["endpointslice.kubernetes.io/managed-by"].as_str().unwrap_or_default();
    let of_kubernetes = manager.is_empty() || manager.starts_with("endpointslice");
    ensure!(!of_kubernetes, "it is managed by {manager:?}");
    ensure_has(labels, &json!({ "kubernetes.io/service-name": derived(SERVICE) }))?;
    let expected = json!({ "kind": "Service", "name": derived(SERVICE), "uid": owner["metadata"]["uid"] });
    ensure_has(&slice["metadata"]["ownerReferences"][0], &expected)
}
