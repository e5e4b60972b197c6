//! What a Service has beside its ports is what its import has; of two that differ the older export counts.

use antrea_e2e::multicluster::cluster_set::Member;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::connections::HELLO;
use super::fixture::with_services;
use super::look::{
    both_are_told, change, cluster_ips, derived_of, ensure_has, exported_with, imported_everywhere,
};
use super::service::{LEFT_AT_HOME, Service, Services};

const LABELLED: &str = "labelled";
const LABELS_DISPUTED: &str = "labels-disputed";
const TYPE_DISPUTED: &str = "type-disputed";
const AFFINITY: &str = "affinity";
const LOCAL: &str = "local";
const CLOSE: &str = "close";

/// What holds wherever Pods are reached.
pub(super) const BEHAVIOURS: [fn(); 7] = [
    only_exported_labels_and_annotations_reach_the_service_import,
    of_conflicting_labels_and_annotations_the_oldest_count_and_both_exporters_say_so,
    session_affinity_of_the_import_is_that_of_the_service,
    internal_traffic_policy_of_the_import_is_that_of_the_service,
    traffic_distribution_of_the_import_is_that_of_the_service,
    the_import_has_one_address_a_family_in_the_order_of_ip_families,
    of_a_cluster_ip_and_a_headless_export_the_oldest_counts_and_both_say_conflict,
];

pub(super) fn services() -> Services {
    let local = Service::exported(LOCAL).with("internalTrafficPolicy", json!("Local"));
    let close = Service::exported(CLOSE).with("trafficDistribution", json!("PreferClose"));
    let affinity = affinity();
    Services {
        b: vec![
            labelled(LABELLED, "gold"),
            labelled(LABELS_DISPUTED, "gold"),
            Service::exported(AFFINITY)
                .with("sessionAffinity", affinity["sessionAffinity"].clone())
                .with("sessionAffinityConfig", affinity["sessionAffinityConfig"].clone()),
            local,
            close,
            Service::exported(TYPE_DISPUTED),
        ],
        c: vec![labelled(LABELS_DISPUTED, "silver"), Service::exported(TYPE_DISPUTED).headless()],
    }
}

fn labelled(name: &'static str, tier: &str) -> Service {
    let exported = json!({ "tier": tier });
    Service::exported(name)
        .exported_with(json!({ "exportedLabels": exported, "exportedAnnotations": exported }))
}

fn affinity() -> Value {
    json!({ "sessionAffinity": "ClientIP", "sessionAffinityConfig": { "clientIP": { "timeoutSeconds": 10 } } })
}

#[test]
fn only_exported_labels_and_annotations_reach_the_service_import() {
    with_services("only_exported_labels_and_annotations_reach_the_service_import", |stage| {
        imported_everywhere(stage, LABELLED, |_, import| ensure_tier(import, "gold"))
    });
}

#[test]
fn of_conflicting_labels_and_annotations_the_oldest_count_and_both_exporters_say_so() {
    with_services(
        "of_conflicting_labels_and_annotations_the_oldest_count_and_both_exporters_say_so",
        |stage| {
            let said = ["as cluster cluster-b exports it", r#"{tier="silver"} of cluster cluster-c"#];
            both_are_told(stage, LABELS_DISPUTED, "LabelsConflict,AnnotationsConflict", &said)?;
            imported_everywhere(stage, LABELS_DISPUTED, |_, import| ensure_tier(import, "gold"))?;
            change(stage.c()?, &labelled(LABELS_DISPUTED, "gold"))?;
            for member in [stage.b()?, stage.c()?] {
                exported_with(member, LABELS_DISPUTED, ("Conflict", "False", "NoConflicts"))?;
            }
            Ok(())
        },
    );
}

/// It has the label and the annotation that were exported, and none of those that Service and ServiceExport have.
fn ensure_tier(import: &Value, tier: &str) -> Result<()> {
    for kind in ["labels", "annotations"] {
        let found = &import["metadata"][kind];
        ensure_has(found, &json!({ "tier": tier }))?;
        ensure!(found.get(LEFT_AT_HOME).is_none(), "it has {kind} that are not exported");
    }
    Ok(())
}

#[test]
fn session_affinity_of_the_import_is_that_of_the_service() {
    with_services("session_affinity_of_the_import_is_that_of_the_service", |stage| {
        imported_everywhere(stage, AFFINITY, |member, import| {
            ensure_has(&import["spec"], &affinity())?;
            ensure_derived_has(member, AFFINITY, &affinity())
        })
    });
}

#[test]
fn internal_traffic_policy_of_the_import_is_that_of_the_service() {
    with_services("internal_traffic_policy_of_the_import_is_that_of_the_service", |stage| {
        let policy = |value: &str| json!({ "internalTrafficPolicy": value });
        for (service, value) in [(LOCAL, "Local"), (HELLO, "Cluster")] {
            imported_everywhere(stage, service, |member, import| {
                ensure_has(&import["spec"], &policy(value))?;
                // No endpoint of another cluster is on a Node of this one.
                ensure_derived_has(member, service, &policy("Cluster"))
            })?;
        }
        Ok(())
    });
}

#[test]
fn traffic_distribution_of_the_import_is_that_of_the_service() {
    with_services("traffic_distribution_of_the_import_is_that_of_the_service", |stage| {
        let close = json!({ "trafficDistribution": "PreferClose" });
        imported_everywhere(stage, CLOSE, |member, import| {
            ensure_has(&import["spec"], &close)?;
            ensure_derived_has(member, CLOSE, &close)
        })
    });
}

/// The clusters of the stage have IPv4 alone; two families are in the tests of the member.
#[test]
fn the_import_has_one_address_a_family_in_the_order_of_ip_families() {
    with_services("the_import_has_one_address_a_family_in_the_order_of_ip_families", |stage| {
        imported_everywhere(stage, HELLO, |member, import| {
            let ips = cluster_ips(&derived_of(member, HELLO)?);
            ensure!(ips.len() == 1, "the derived Service has {ips:?}");
            ensure_has(&import["spec"], &json!({ "ips": ips, "ipFamilies": ["IPv4"] }))
        })
    });
}

#[test]
fn of_a_cluster_ip_and_a_headless_export_the_oldest_counts_and_both_say_conflict() {
    with_services("of_a_cluster_ip_and_a_headless_export_the_oldest_counts_and_both_say_conflict", |stage| {
        let said = ["type is ClusterSetIP", "Headless of cluster cluster-c"];
        both_are_told(stage, TYPE_DISPUTED, "TypeConflict", &said)?;
        imported_everywhere(stage, TYPE_DISPUTED, |_, import| {
            ensure!(import["spec"]["ips"][0].is_string(), "it has no address");
            ensure_has(&import["spec"], &json!({ "type": "ClusterSetIP" }))
        })
    });
}

/// So has the Service that traffic goes through.
fn ensure_derived_has(member: &Member, service: &str, expected: &Value) -> Result<()> {
    ensure_has(&derived_of(member, service)?["spec"], expected)
}
