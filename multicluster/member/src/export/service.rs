//! One ServiceExport: its two ResourceExports, and its conditions.

use std::collections::BTreeMap;

use antrea_mc_core::addresses::{Claim, PodConnectivity};
use antrea_mc_core::ids::{ClusterId, NamespacedName};
use antrea_mc_core::names::{Holder, Names, Resource};
use antrea_mc_core::service_export::{
    Conflicts, Decision, Invalid, Progress, Reach, conditions as decided, decide,
};
use antrea_mc_core::wire::{export_endpoints, export_service};
use antrea_shared_api::mcs::v1beta1::ServiceExport;
use antrea_shared_api::mcs::{export_condition, ready_reason};
use antrea_shared_api::multicluster::condition_type;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use super::gateway::no_room;
use super::{Exporter, Membership, Problem, Subject, parse};
use crate::action::{Action, ensure, ensure_status, exactly};
use crate::area::Plan;
use crate::condition::{Condition, conditions, reason_said, said};
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
    let mut decision = decide_on(exporter, objects, name, &export)?;
    let waits = keep_what_is_let_in(exporter, objects, name, &mut decision);
    let (exports, problem) = exports(exporter, objects, name, &export, &decision, waits, now);
    let refusal = exporter.refusals.get(&Subject::Service(name.namespace().into(), name.name().into()));
    // What the leader has already it does not refuse any more. What waits for Gateways nobody asks it for yet.
    let refusal = refusal.filter(|_| is_pending(exporter, name) || !exports.is_empty());
    let refusal = problem.as_ref().map(ToString::to_string).or_else(|| refusal.cloned());
    let refusal = refusal.or_else(|| no_room(exporter, name).map(|problem| problem.to_string()));
    let is_refused = refusal.is_some();
    let progress = match &exporter.membership {
        Membership::None => Progress::NoClusterSet,
        Membership::Joined { unreachable: Some(_), .. } if is_answered(object) => Progress::Kept,
        Membership::Joined { unreachable: Some(why), .. } => Progress::Pending(Some(why.to_string())),
        Membership::Joined { unreachable: None, .. } => progress(exporter, objects, name, refusal),
    };
    let mut actions = [exports, report(&key, object, &decision, &progress, now)];
    if is_refused {
        // Nothing is sent after what fails, and another attempt may fail like the last: the user is told first.
        actions.reverse();
    }
    Ok(Plan { actions: actions.concat(), problems: problem.into_iter().collect() })
}

/// Whether it is not known yet if Gateways let other clusters in to all addresses.
fn is_pending(exporter: &Exporter, name: &NamespacedName) -> bool {
    exporter.exported.is_pending(&(name.namespace().to_owned(), name.name().to_owned()))
}

/// What becomes of the endpoints that the leader has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Endpoints {
    /// The present ones take their place.
    Follow,
    /// They stay as they are for a moment.
    Wait,
}

/// Leaves out the addresses that Gateways do not let other clusters in to.
///
/// New addresses wait until Gateways list them. Endpoints that stay do not wait for these: where Pods come all the time
/// other clusters would keep what is long gone. Where none stays, and there is room for the new ones, these do not wait
/// either: what other clusters have leads nowhere.
fn keep_what_is_let_in(
    exporter: &Exporter,
    objects: &Objects,
    name: &NamespacedName,
    decision: &mut Decision,
) -> Endpoints {
    let Decision::Export { endpoints, .. } = decision else { return Endpoints::Follow };
    let all = is_pending(exporter, name).then(|| endpoints.clone());
    endpoints.retain(|address| exporter.exported.lets_in(address));
    let Some(all) = all.filter(|_| endpoints.is_empty()) else { return Endpoints::Follow };
    if !exporter.exported.has_room() || !has_endpoints(exporter, objects, name) {
        return Endpoints::Wait;
    }
    *endpoints = all;
    Endpoints::Follow
}

/// Whether other clusters have endpoints of a Service.
fn has_endpoints(exporter: &Exporter, objects: &Objects, name: &NamespacedName) -> bool {
    let lists = ["/spec/endpoints/subsets", "/spec/endpoints/endpointSlices"];
    keys(exporter, objects, name).iter().filter_map(|key| objects.get(key)).any(|export| {
        let mut lists = lists.iter().filter_map(|list| at(export, list)?.as_array());
        lists.any(|list| !list.is_empty())
    })
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
    Ok(decide(&export.spec, service.as_ref(), &slices, &reach(exporter)))
}

/// What the leader takes of this cluster. Where endpoints may be does not depend on whether Pods are reached otherwise.
fn reach(exporter: &Exporter) -> Reach {
    let Exporter { addresses, networks, pods, .. } = exporter;
    Reach {
        addresses: *addresses,
        networks: Claim::new(&networks.service_cidrs, &pods.networks, *addresses, PodConnectivity::Off),
        at_home: pods.at_home.clone(),
    }
}

/// The ResourceExports of a Service: of the Service itself and of its endpoints; none without a leader.
fn keys(exporter: &Exporter, objects: &Objects, name: &NamespacedName) -> Vec<Key> {
    let Membership::Joined { area, unreachable: None } = &exporter.membership else { return Vec::new() };
    resources(name).iter().map(|resource| key_of(exporter, objects, area, resource)).collect()
}

fn resources(name: &NamespacedName) -> [Resource; 2] {
    [Resource::Service(name.clone()), Resource::Endpoints(name.clone())]
}

/// The ResourceExport of a resource. One that is there keeps its name.
fn key_of(exporter: &Exporter, objects: &Objects, area: &str, resource: &Resource) -> Key {
    let key = |name: &str| Key::new(Kind::ResourceExport, area, name);
    let names = Names::of_export(&exporter.cluster, resource);
    let name = names.choose(|name| match objects.get(&key(name)) {
        None => Holder::Nobody,
        Some(export) if is_of(export, &exporter.cluster, resource) => Holder::Itself,
        Some(_) => Holder::Another,
    });
    key(name)
}

/// Brings the ResourceExports about.
fn exports(
    exporter: &Exporter,
    objects: &Objects,
    name: &NamespacedName,
    export: &ServiceExport,
    decision: &Decision,
    waits: Endpoints,
    now: Timestamp,
) -> (Vec<Action>, Option<Problem>) {
    let keys = keys(exporter, objects, name);
    let Decision::Export { service, endpoints, .. } = decision else {
        return (withdraw(exporter, objects, name, &[]), None);
    };
    let created = export.metadata.creation_timestamp.as_ref().map_or(now, |time| time.0);
    let payloads = [
        ("Service", "service", json!(export_service(service, created))),
        ("Endpoints", "endpoints", json!(export_endpoints(endpoints))),
    ];
    let mut actions = Vec::new();
    for (key, (kind, field, payload)) in keys.iter().zip(payloads) {
        let actual = objects.get(key);
        if actual.is_some_and(|actual| !is_of_cluster(actual, &exporter.cluster)) {
            return (Vec::new(), Some(Problem::NameTaken(key.clone())));
        }
        // It comes back once the leader has let it go.
        if actual.is_some_and(is_leaving) || (waits == Endpoints::Wait && kind == "Endpoints") {
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
    // At no moment is the Service exported under no name.
    if keys.iter().all(|key| objects.get(key).is_some_and(|export| !is_leaving(export))) {
        actions.extend(withdraw(exporter, objects, name, &keys));
    }
    (actions, None)
}

fn is_of_cluster(export: &Value, cluster: &ClusterId) -> bool {
    text(export, "/spec/clusterID") == cluster.as_str()
}

/// Whether an export is that in which `cluster` exports `resource`.
fn is_of(export: &Value, cluster: &ClusterId, resource: &Resource) -> bool {
    let of = |kind: &str, name: &NamespacedName| {
        text(export, "/spec/kind") == kind
            && text(export, "/spec/namespace") == name.namespace()
            && text(export, "/spec/name") == name.name()
    };
    let is_it = match resource {
        Resource::Service(name) => of("Service", name),
        Resource::Endpoints(name) => of("Endpoints", name),
        _ => false,
    };
    is_it && is_of_cluster(export, cluster)
}

/// Withdraws what this cluster exports of a Service under names other than `kept`: when it is no longer exported, and
/// when it was exported under two names.
fn withdraw(exporter: &Exporter, objects: &Objects, name: &NamespacedName, kept: &[Key]) -> Vec<Action> {
    let Membership::Joined { area, unreachable: None } = &exporter.membership else { return Vec::new() };
    let mut exports: BTreeMap<Key, &Value> = BTreeMap::new();
    for resource in resources(name) {
        let ours = |export: &&Value| is_of(export, &exporter.cluster, &resource) && !is_leaving(export);
        for name in Names::of_export(&exporter.cluster, &resource).both() {
            let key = Key::new(Kind::ResourceExport, area, name);
            exports.extend(objects.get(&key).filter(ours).map(|export| (key, export)));
        }
    }
    exports.retain(|key, _| !kept.contains(key));
    exports.iter().map(|(key, export)| Action::delete(key, export)).collect()
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
    let keys = keys(exporter, objects, name);
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

/// Whether a ServiceExport says what the leader made of it: it does not lose that because the leader is away, or was when
/// the controller started. What was refused may have been changed since.
fn is_answered(export: &Value) -> bool {
    let is_valid = condition_of(export, &[export_condition::VALID])
        .is_some_and(|valid| text(valid, "/status") == "True");
    let Some(ready) = condition_of(export, &[export_condition::READY]) else { return false };
    match (text(ready, "/status"), text(ready, "/reason")) {
        ("True", _) => true,
        (_, ready_reason::FAILED) => {
            is_valid && at(ready, "/observedGeneration") == at(export, "/metadata/generation")
        }
        _ => false,
    }
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
            return Progress::Refused(said(why), conflicts);
        }
        if !message.is_empty() {
            left_out = Some(said(message));
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
        Some(conflict) if text(conflict, "/status") == "True" => Conflicts::Some(
            reason_said(text(conflict, "/reason")).to_owned(),
            said(text(conflict, "/message")),
        ),
        Some(_) => Conflicts::None,
    }
}

/// Tells the user, by conditions, and by an Event when something has gone wrong. A conflict that nobody knows of any
/// more goes; what is not known of either stays together.
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
    let says = |of: &str| wanted.iter().any(|condition| condition.condition_type == of);
    let is_over = says(export_condition::READY) && !says(export_condition::CONFLICT);
    let mut conditions = conditions(object, &wanted, now);
    if let Some(conditions) = conditions.as_array_mut().filter(|_| is_over) {
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
