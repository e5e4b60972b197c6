//! One ServiceExport: its two ResourceExports, and its conditions.

use antrea_mc_core::addresses::{Claim, PodConnectivity};
use antrea_mc_core::ids::NamespacedName;
use antrea_mc_core::names::{Naming, Resource, export_name};
use antrea_mc_core::service_export::{Conflicts, Decision, Invalid, Progress, conditions as decided, decide};
use antrea_mc_core::wire::{export_endpoints, export_service};
use antrea_shared_api::mcs::v1beta1::ServiceExport;
use antrea_shared_api::mcs::{export_condition, ready_reason};
use antrea_shared_api::multicluster::condition_type;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use super::{Exporter, Membership, Networks, Problem, Subject, parse};
use crate::action::{Action, ensure, ensure_status, exactly};
use crate::area::Plan;
use crate::condition::{Condition, conditions};
use crate::event::warning;
use crate::kind::Kind;
use crate::objects::{Key, Objects, at, is_leaving, text};

/// What is to be done about the Service of this name.
pub(super) fn plan(
    exporter: &Exporter,
    objects: &Objects,
    name: &NamespacedName,
    now: Timestamp,
) -> Result<Plan<Problem>, Problem> {
    let key = Key::new(Kind::ServiceExport, name.namespace(), name.name());
    let Some(object) = objects.get(&key).filter(|export| !is_leaving(export)) else {
        return Ok(Plan { actions: withdraw(exporter, objects, name, &[]), problems: Vec::new() });
    };
    let export = parse::<ServiceExport>(&key, object)?;
    let decision = decide_on(exporter, objects, name, &export)?;
    let (exports, problem) = exports(exporter, objects, name, &export, &decision, now);
    let refusal = exporter.refusals.get(&Subject::Service(name.namespace().into(), name.name().into()));
    let refusal = problem.as_ref().map(ToString::to_string).or_else(|| refusal.cloned());
    let is_refused = refusal.is_some();
    let progress = progress(exporter, objects, name, refusal);
    let mut actions = [exports, report(&key, object, &decision, &progress, now)];
    if is_refused {
        // Nothing is sent after what fails, and another attempt may fail like the last: the user is told first.
        actions.reverse();
    }
    Ok(Plan { actions: actions.concat(), problems: problem.into_iter().collect() })
}

fn decide_on(
    exporter: &Exporter,
    objects: &Objects,
    name: &NamespacedName,
    export: &ServiceExport,
) -> Result<Decision, Problem> {
    if exporter.excluded.contains(name.namespace()) {
        return Ok(Decision::Withdraw(Invalid::ExcludedNamespace));
    }
    let key = Key::new(Kind::Service, name.namespace(), name.name());
    let service = objects.get(&key).filter(|service| !is_leaving(service));
    let service = service.map(|service| parse::<Service>(&key, service)).transpose()?;
    let slices = objects.slices(name.namespace(), name.name());
    let slices: Vec<EndpointSlice> =
        slices.map(|(key, slice)| parse::<EndpointSlice>(key, slice)).collect::<Result<_, _>>()?;
    let slices: Vec<&EndpointSlice> = slices.iter().collect();
    Ok(decide(&export.spec, service.as_ref(), &slices, exporter.addresses, &claim(exporter)))
}

/// The networks that the leader takes endpoints in.
pub(super) fn claim(exporter: &Exporter) -> Claim {
    let Networks { service_cidrs, pod_cidrs } = &exporter.networks;
    let pods = if pod_cidrs.is_empty() { PodConnectivity::Off } else { PodConnectivity::On };
    Claim::new(service_cidrs, pod_cidrs, exporter.addresses, pods)
}

/// The ResourceExports of a Service: of the Service itself and of its endpoints; none without a leader.
fn keys(exporter: &Exporter, name: &NamespacedName) -> Vec<Key> {
    match &exporter.membership {
        Membership::Joined { area, naming, unreachable: None } => named(exporter, area, name, *naming),
        _ => Vec::new(),
    }
}

fn named(exporter: &Exporter, area: &str, name: &NamespacedName, naming: Naming) -> Vec<Key> {
    [Resource::Service(name.clone()), Resource::Endpoints(name.clone())]
        .iter()
        .map(|resource| {
            Key::new(Kind::ResourceExport, area, &export_name(&exporter.cluster, resource, naming))
        })
        .collect()
}

/// Brings the ResourceExports about.
fn exports(
    exporter: &Exporter,
    objects: &Objects,
    name: &NamespacedName,
    export: &ServiceExport,
    decision: &Decision,
    now: Timestamp,
) -> (Vec<Action>, Option<Problem>) {
    let keys = keys(exporter, name);
    let Decision::Export { service, endpoints, .. } = decision else {
        return (withdraw(exporter, objects, name, &[]), None);
    };
    let created = export.metadata.creation_timestamp.as_ref().map_or(now, |time| time.0);
    let payloads = [
        ("Service", "service", json!(export_service(service, created))),
        ("Endpoints", "endpoints", json!(export_endpoints(endpoints))),
    ];
    let mut actions = withdraw(exporter, objects, name, &keys);
    for (key, (kind, field, payload)) in keys.iter().zip(payloads) {
        let actual = objects.get(key);
        if actual.is_some_and(|actual| !is_of(actual, name)) {
            return (Vec::new(), Some(Problem::NameTaken(key.clone())));
        }
        // It comes back once the leader has let it go.
        if actual.is_some_and(is_leaving) {
            continue;
        }
        let payload = exactly(actual.and_then(|actual| at(actual, "/spec")?.get(field)), &payload);
        let of = (name.namespace(), name.name());
        actions.extend(ensure(
            Kind::ResourceExport,
            actual,
            &exporter.resource_export(key, kind, of, (field, &payload)),
        ));
    }
    (actions, None)
}

fn is_of(export: &Value, name: &NamespacedName) -> bool {
    text(export, "/spec/namespace") == name.namespace() && text(export, "/spec/name") == name.name()
}

/// Withdraws what this cluster exports of a Service under names other than `kept`: when it is no longer exported, and
/// when the leader wants other names than an earlier one.
fn withdraw(exporter: &Exporter, objects: &Objects, name: &NamespacedName, kept: &[Key]) -> Vec<Action> {
    let Membership::Joined { area, unreachable: None, .. } = &exporter.membership else { return Vec::new() };
    let mut keys = named(exporter, area, name, Naming::Upstream);
    keys.extend(named(exporter, area, name, Naming::Unambiguous));
    keys.sort();
    keys.dedup();
    keys.retain(|key| !kept.contains(key));
    let ours = |there: &&Value| {
        text(there, "/spec/clusterID") == exporter.cluster.as_str()
            && is_of(there, name)
            && !is_leaving(there)
    };
    keys.iter().filter_map(|key| Some(Action::delete(key, objects.get(key).filter(ours)?))).collect()
}

/// How far the exports have come, as the leader says. What it said of the export before a change holds until it says
/// something else: endpoints that come and go do not change whether a Service is exported. What it refuses even to take
/// is not exported, whatever it said before.
fn progress(
    exporter: &Exporter,
    objects: &Objects,
    name: &NamespacedName,
    refusal: Option<String>,
) -> Progress {
    match &exporter.membership {
        Membership::None => return Progress::NoClusterSet,
        Membership::Joined { unreachable: Some(why), .. } => return Progress::Pending(Some(why.clone())),
        Membership::Joined { .. } => {}
    }
    let keys = keys(exporter, name);
    let there: Vec<&Value> = keys.iter().filter_map(|key| objects.get(key)).collect();
    if let Some(why) = refusal {
        return Progress::Refused(
            why,
            there.first().map_or(Conflicts::Unknown, |service| conflicts(service)),
        );
    }
    if there.len() < keys.len() {
        return Progress::Pending(None);
    }
    progress_of(&there)
}

fn progress_of(exports: &[&Value]) -> Progress {
    let conflicts = exports.first().map_or(Conflicts::Unknown, |service| conflicts(service));
    let mut left_out = None;
    for export in exports {
        let Some(state) = condition_of(export, &[condition_type::SUCCEEDED, condition_type::FAILURE]) else {
            return Progress::Pending(None);
        };
        let message = text(state, "/message");
        if text(state, "/type") == condition_type::FAILURE || text(state, "/status") != "True" {
            let why = if message.is_empty() { "the leader refuses the export" } else { message };
            return Progress::Refused(why.to_owned(), conflicts);
        }
        if !message.is_empty() {
            left_out = Some(message.to_owned());
        }
    }
    Progress::Merged { conflicts, left_out }
}

/// The first condition of one of these types. Upstream's leader writes one of `Succeeded` and `Failure`.
fn condition_of<'a>(export: &'a Value, types: &[&str]) -> Option<&'a Value> {
    let conditions = at(export, "/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| types.contains(&text(condition, "/type")))
}

fn conflicts(export: &Value) -> Conflicts {
    match condition_of(export, &[condition_type::CONFLICT]) {
        None => Conflicts::Unknown,
        Some(conflict) if text(conflict, "/status") == "True" => {
            Conflicts::Some(text(conflict, "/reason").to_owned(), text(conflict, "/message").to_owned())
        }
        Some(_) => Conflicts::None,
    }
}

/// Tells the user, by conditions, and by an Event when something has gone wrong. A conflict that nobody knows of any
/// more goes.
fn report(
    key: &Key,
    object: &Value,
    decision: &Decision,
    progress: &Progress,
    now: Timestamp,
) -> Vec<Action> {
    let wanted: Vec<Condition> = decided(decision, progress)
        .into_iter()
        .map(|condition| Condition {
            condition_type: condition.condition_type,
            status: condition.status.as_str().to_owned(),
            reason: condition.reason,
            message: condition.message,
        })
        .collect();
    let has_conflict = wanted.iter().any(|condition| condition.condition_type == export_condition::CONFLICT);
    let mut conditions = conditions(object, &wanted, now);
    if let Some(conditions) = conditions.as_array_mut().filter(|_| !has_conflict) {
        conditions.retain(|condition| text(condition, "/type") != export_condition::CONFLICT);
    }
    let written = ensure_status(key, object, &json!({ "conditions": conditions }));
    let fault = wanted.iter().find(|condition| is_fault(condition) && is_news(object, condition));
    let event = fault.filter(|_| written.is_some()).map(|fault| warning(key, object, fault, now));
    written.into_iter().chain(event).collect()
}

/// Whether somebody has to mend something. What is pending mends itself.
fn is_fault(condition: &Condition) -> bool {
    match condition.condition_type {
        export_condition::CONFLICT => condition.status == "True",
        _ => condition.status == "False" && condition.reason != ready_reason::PENDING,
    }
}

fn is_news(object: &Value, condition: &Condition) -> bool {
    condition_of(object, &[condition.condition_type]).is_none_or(|before| {
        text(before, "/status") != condition.status || text(before, "/reason") != condition.reason
    })
}
