//! As long as a Service is exported it is imported, and no longer.

use anyhow::ensure;
use serde_json::json;

use super::fixture::with_services;
use super::look::{
    ensure_has, ensure_nowhere, exported_with, gone_everywhere, imported_everywhere, unexport,
};
use super::service::{NAMESPACE, Service, Services, external_name};
use crate::multicluster::refusals::wait_for_event;

const OF_TWO: &str = "of-two";
const OF_ONE: &str = "of-one";
const EXTERNAL: &str = "external";
const BECOMES_EXTERNAL: &str = "becomes-external";

/// What holds wherever Pods are reached.
pub(super) const BEHAVIOURS: [fn(); 3] = [
    a_service_import_exists_only_while_a_cluster_exports,
    an_exported_cluster_ip_service_is_a_clusterset_ip_import_in_each_cluster_until_unexported,
    an_external_name_service_is_not_valid_and_not_imported,
];

pub(super) fn services() -> Services {
    Services {
        b: vec![
            Service::exported(OF_TWO),
            Service::exported(OF_ONE),
            Service::exported(EXTERNAL).external(),
            Service::exported(BECOMES_EXTERNAL),
        ],
        c: vec![Service::exported(OF_TWO)],
    }
}

#[test]
fn a_service_import_exists_only_while_a_cluster_exports() {
    with_services("a_service_import_exists_only_while_a_cluster_exports", |stage| {
        let (b, c) = (stage.b()?, stage.c()?);
        let exporters = |ids: &[String]| {
            let clusters: Vec<_> = ids.iter().map(|id| json!({ "cluster": id })).collect();
            imported_everywhere(stage, OF_TWO, |_, import| {
                ensure_has(&import["status"], &json!({ "clusters": clusters }))
            })
        };
        exporters(&[b.id(), c.id()])?;
        unexport(b, OF_TWO)?;
        exporters(&[c.id()])?;
        unexport(c, OF_TWO)?;
        gone_everywhere(stage, OF_TWO)
    });
}

#[test]
fn an_exported_cluster_ip_service_is_a_clusterset_ip_import_in_each_cluster_until_unexported() {
    with_services(
        "an_exported_cluster_ip_service_is_a_clusterset_ip_import_in_each_cluster_until_unexported",
        |stage| {
            let b = stage.b()?;
            exported_with(b, OF_ONE, ("Valid", "True", "Valid"))?;
            exported_with(b, OF_ONE, ("Ready", "True", "Exported"))?;
            imported_everywhere(stage, OF_ONE, |_, import| {
                ensure_has(&import["spec"], &json!({ "type": "ClusterSetIP" }))
            })?;
            unexport(b, OF_ONE)?;
            gone_everywhere(stage, OF_ONE)
        },
    );
}

#[test]
fn an_external_name_service_is_not_valid_and_not_imported() {
    with_services("an_external_name_service_is_not_valid_and_not_imported", |stage| {
        let b = stage.b()?;
        let not_valid = ("Valid", "False", "InvalidServiceType");
        exported_with(b, EXTERNAL, not_valid)?;
        wait_for_event(&b.kubectl, NAMESPACE, EXTERNAL, "InvalidServiceType")?;
        ensure_nowhere(stage, EXTERNAL)?;
        // One that was exported before is withdrawn.
        imported_everywhere(stage, BECOMES_EXTERNAL, |_, import| {
            ensure!(import["spec"]["ips"][0].is_string(), "it has no address");
            Ok(())
        })?;
        let patch = json!({ "spec": external_name() }).to_string();
        b.kubectl.text(&[
            "patch",
            "service",
            BECOMES_EXTERNAL,
            "-n",
            NAMESPACE,
            "--type=merge",
            "-p",
            &patch,
        ])?;
        exported_with(b, BECOMES_EXTERNAL, not_valid)?;
        gone_everywhere(stage, BECOMES_EXTERNAL)
    });
}
