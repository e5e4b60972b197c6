//! What the API servers have: waits for imports, for their end, and for conditions of exports.

use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::progress::all_at_once;
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::service::{NAMESPACE, Service, derived};
use crate::multicluster::stage::{Stage, until, wait_for_condition};

const IMPORTS: &str = "serviceimports.multicluster.x-k8s.io";

/// Waits until every cluster imports a Service and finds nothing wrong with the import.
pub(super) fn imported_everywhere(
    stage: &Stage,
    service: &str,
    judge: impl Fn(&Member, &Value) -> Result<()> + Sync,
) -> Result<()> {
    everywhere(stage, |member| {
        until(&format!("{service} to be imported in {} as it should be", member.id()), || {
            let import = import_of(member, service)?;
            judge(member, &import).with_context(|| format!("the import is {import}"))
        })
    })
}

/// Waits until no cluster has an import of a Service, nor a Service made for it.
pub(super) fn gone_everywhere(stage: &Stage, service: &str) -> Result<()> {
    everywhere(stage, |member| {
        until(&format!("{service} to be gone in {}", member.id()), || {
            let found = left(member, service)?;
            ensure!(found.is_empty(), "there are {found}");
            Ok(())
        })
    })
}

/// An error where some cluster has one, now.
pub(super) fn ensure_nowhere(stage: &Stage, service: &str) -> Result<()> {
    everywhere(stage, |member| {
        let found = left(member, service)?;
        ensure!(found.is_empty(), "{} has {found}", member.id());
        Ok(())
    })
}

fn left(member: &Member, service: &str) -> Result<String> {
    let (import, derived) = (format!("{IMPORTS}/{service}"), format!("service/{}", derived(service)));
    member.kubectl.text(&["get", &import, &derived, "-n", NAMESPACE, "--ignore-not-found", "-o", "name"])
}

/// Does the same in all clusters at once.
pub(super) fn everywhere(stage: &Stage, work: impl Fn(&Member) -> Result<()> + Sync) -> Result<()> {
    all_at_once(stage.members(), work).map(drop)
}

/// The import of a Service.
pub(super) fn import_of(member: &Member, service: &str) -> Result<Value> {
    get(member, IMPORTS, service)
}

/// The Service that was made for an import.
pub(super) fn derived_of(member: &Member, service: &str) -> Result<Value> {
    get(member, "service", &derived(service))
}

/// The addresses of a Service of a cluster.
pub(super) fn cluster_ips(service: &Value) -> Vec<String> {
    let ips = service["spec"]["clusterIPs"].as_array().into_iter().flatten();
    ips.filter_map(|ip| ip.as_str().map(str::to_owned)).collect()
}

/// An object of these tests.
pub(super) fn get(member: &Member, kind: &str, name: &str) -> Result<Value> {
    member.kubectl.json(&["get", kind, name, "-n", NAMESPACE])
}

/// An error where a field of `found` is not as in `expected`.
pub(super) fn ensure_has(found: &Value, expected: &Value) -> Result<()> {
    for (field, value) in expected.as_object().into_iter().flatten() {
        ensure!(found[field] == *value, "{field} is {}, not {value}", found[field]);
    }
    Ok(())
}

/// Waits until the ServiceExport of a Service has a condition: type, status and reason. Returns its message.
pub(super) fn exported_with(
    member: &Member,
    service: &str,
    (kind, status, reason): (&str, &str, &str),
) -> Result<String> {
    let export = ["serviceexport", service, "-n", NAMESPACE];
    let condition = wait_for_condition(&member.kubectl, &export, (kind, status, Some(reason)))?;
    Ok(condition["message"].as_str().unwrap_or_default().to_owned())
}

/// Waits until both exporters are told of a conflict with this reason, and of everything in `said`.
pub(super) fn both_are_told(stage: &Stage, service: &str, reason: &str, said: &[&str]) -> Result<()> {
    for member in [stage.b()?, stage.c()?] {
        let message = exported_with(member, service, ("Conflict", "True", reason))?;
        for part in said {
            ensure!(message.contains(part), "{} is not told {part:?}, but: {message}", member.id());
        }
    }
    Ok(())
}

/// Applies a Service and its export again, with what is different now.
pub(super) fn change(member: &Member, service: &Service) -> Result<()> {
    let objects: Vec<String> = service.objects().iter().map(Value::to_string).collect();
    member.kubectl.apply(&objects.join("\n---\n"))
}

/// Ends the export of a Service.
pub(super) fn unexport(member: &Member, service: &str) -> Result<()> {
    member.kubectl.text(&["delete", "serviceexport", service, "-n", NAMESPACE]).map(drop)
}
