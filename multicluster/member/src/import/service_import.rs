//! The ServiceImport of an imported Service, with its addresses in this cluster and what became of it.

use antrea_mc_core::names::derived_service_name;
use antrea_shared_api::mcs::{EndpointSliceObjects, import_condition, ready_reason};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::service::{Imported, cluster_ips, is_ours};
use super::{Problem, slices, template};
use crate::action::{ensure, ensure_status};
use crate::area::Plan;
use crate::condition::{Condition, conditions, said};
use crate::kind::Kind;
use crate::objects::{Key, Objects, at, is_leaving};

/// Adds what is to be done about the ServiceImport. `service` is the derived Service that is there.
pub(super) fn plan(
    objects: &Objects,
    imported: &Imported<'_>,
    service: Option<&Value>,
    now: Timestamp,
    plan: &mut Plan<Problem>,
) {
    let key = Key::new(Kind::ServiceImport, imported.namespace, imported.name);
    let actual = objects.get(&key);
    let derived = Key::new(Kind::Service, imported.namespace, &derived_service_name(imported.name));
    if actual.is_some_and(|actual| !is_ours(actual) && !is_of_upstream(objects, actual, &derived)) {
        plan.problems.push(Problem::Foreign(key));
        return;
    }
    let ips = service.map(cluster_ips).unwrap_or_default();
    // It appears with its address, and does not lose the one that it has while the Service is made anew.
    if actual.is_none() && ips.is_empty() && !imported.is_headless() && plan.problems.is_empty() {
        return;
    }
    plan.actions.extend(ensure(Kind::ServiceImport, actual, &wanted(imported, actual, &ips)));
    let Some(actual) = actual.filter(|actual| !is_leaving(actual)) else { return };
    let has_slices = !slices::existing(objects, imported.namespace, imported.name).is_empty();
    let ready = ready(imported, &ips, &plan.problems);
    plan.actions.extend(ensure_status(&key, actual, &status(imported, actual, has_slices, ready, now)));
}

/// Whether upstream made a ServiceImport, whose ServiceImports carry no mark: it has the address of the derived Service.
pub(super) fn is_of_upstream(objects: &Objects, import: &Value, derived: &Key) -> bool {
    let service = objects.get(derived).filter(|service| is_ours(service));
    let ips = at(import, "/spec/ips").cloned().unwrap_or_default();
    service.is_some_and(|service| {
        let own = cluster_ips(service);
        !own.is_empty() && ips == json!(own)
    })
}

fn wanted(imported: &Imported<'_>, actual: Option<&Value>, ips: &[String]) -> Value {
    let (labels, annotations) = template::owned(&imported.import.metadata, actual);
    let spec = &imported.import.spec;
    let ports = spec.ports.iter().map(|port| {
        json!({
            "name": (!port.name.is_empty()).then_some(&port.name),
            "protocol": (!port.protocol.is_empty()).then_some(&port.protocol),
            "appProtocol": port.app_protocol,
            "port": port.port,
        })
    });
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1beta1",
        "kind": "ServiceImport",
        "metadata": {
            "name": imported.name,
            "namespace": imported.namespace,
            "labels": labels,
            "annotations": annotations,
        },
        "spec": {
            "type": spec.import_type,
            "ports": ports.collect::<Vec<_>>(),
            "ips": (!imported.is_headless()).then_some(ips),
            "sessionAffinity": spec.session_affinity,
            "sessionAffinityConfig": spec.session_affinity_config,
            "ipFamilies": spec.ip_families,
            "internalTrafficPolicy": spec.internal_traffic_policy,
            "trafficDistribution": spec.traffic_distribution,
        },
    })
}

/// Whether the Service can be reached.
fn ready(imported: &Imported<'_>, ips: &[String], problems: &[Problem]) -> Condition {
    // Families and clusters are called what the leader calls them.
    let ready = |status, reason: &str, message: String| {
        Condition::new(import_condition::READY, status, reason, said(&message))
    };
    match problems.first() {
        Some(problem @ Problem::NoFamily(_)) => {
            ready("False", ready_reason::IP_FAMILY_NOT_SUPPORTED, problem.to_string())
        }
        Some(problem) => ready("False", ready_reason::PENDING, problem.to_string()),
        None if ips.is_empty() && !imported.is_headless() => {
            ready("False", ready_reason::PENDING, "the derived Service has no address yet".to_owned())
        }
        None => {
            let left_out = imported.left_out.as_ref().map(ToString::to_string);
            ready("True", ready_reason::READY, left_out.unwrap_or_default())
        }
    }
}

fn status(
    imported: &Imported<'_>,
    actual: &Value,
    has_slices: bool,
    ready: Condition,
    now: Timestamp,
) -> Value {
    let slices = if has_slices { EndpointSliceObjects::Present } else { EndpointSliceObjects::Absent };
    json!({
        "endpointSliceObjects": slices,
        "clusters": imported.import.status.clusters,
        "conditions": conditions(actual, &[ready], now),
    })
}
