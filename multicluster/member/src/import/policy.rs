//! Policies of the ClusterSet: the ClusterNetworkPolicy `antrea-mc-NAME` each, and what the leader learns of it.

use antrea_mc_core::names::{Names, Resource, derived_policy_name};
use antrea_shared_api::multicluster::condition_type;
use antrea_shared_api::multicluster::v1alpha1::{ImportKind, ResourceImport};
use antrea_shared_api::multicluster::well_known::annotation::IMPORTED_ACNP;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{Importer, Problem};
use crate::action::{Action, difference, ensure, exactly};
use crate::area::Plan;
use crate::condition::{Condition, written};
use crate::event::warning;
use crate::kind::Kind;
use crate::objects::{Key, Objects, annotation, at, text};

/// The reason that upstream gives for a policy that is not imported.
const FAILED: &str = "ACNPImportFailed";

/// What is to be done about the policy that has this name in the Common Area.
pub(super) fn plan(
    importer: &Importer,
    objects: &Objects,
    name: &str,
    now: Timestamp,
) -> Result<Plan<Problem>, Problem> {
    let key = Key::new(Kind::ClusterNetworkPolicy, "", &derived_policy_name(name));
    let actual = objects.get(&key);
    let own = actual.filter(|actual| annotation(actual, IMPORTED_ACNP).is_some());
    let names = Names::of_import(&Resource::Policy(name.to_owned()));
    let is_it = |import: &ResourceImport| {
        import.spec.kind == ImportKind::AntreaClusterNetworkPolicy && import.spec.name == name
    };
    let Some(import) = importer.import(objects, &names.both(), is_it)? else {
        let withdrawn = own.map(|own| Action::delete(&key, own));
        return Ok(Plan { actions: withdrawn.into_iter().collect(), problems: Vec::new() });
    };
    let Some(spec) = &import.spec.cluster_network_policy else { return Ok(Plan::default()) };
    let mut plan = Plan::default();
    match problem(importer, objects, &key, actual, spec) {
        // A policy without its Tier would be enforced at a place that nobody chose.
        Some(problem) => {
            plan.actions.extend(own.map(|own| Action::delete(&key, own)));
            plan.problems.push(problem);
        }
        None => plan.actions.extend(ensure(Kind::ClusterNetworkPolicy, actual, &wanted(&key, actual, spec))),
    }
    let realizable = own.and_then(|own| realizable(own));
    plan.actions.extend(report(importer, objects, &import, plan.problems.first(), realizable, now));
    Ok(plan)
}

fn problem(
    importer: &Importer,
    objects: &Objects,
    key: &Key,
    actual: Option<&Value>,
    spec: &Map<String, Value>,
) -> Option<Problem> {
    if actual.is_some_and(|actual| annotation(actual, IMPORTED_ACNP).is_none()) {
        return Some(Problem::Foreign(key.clone()));
    }
    // Without one the policy is in the default tier.
    let tier = spec.get("tier").and_then(Value::as_str).filter(|tier| !tier.is_empty())?;
    let is_there = objects.get(&Key::new(Kind::Tier, "", &tier.to_lowercase())).is_some();
    (!is_there).then(|| Problem::NoTier { tier: tier.to_owned(), cluster: importer.cluster.clone() })
}

/// The whole spec is the leader's: fields that it does not have go.
fn wanted(key: &Key, actual: Option<&Value>, spec: &Map<String, Value>) -> Value {
    json!({
        "apiVersion": "crd.antrea.io/v1beta1",
        "kind": "ClusterNetworkPolicy",
        "metadata": { "name": key.name, "annotations": { IMPORTED_ACNP: "true" } },
        "spec": exactly(actual.and_then(|actual| actual.get("spec")), &json!(spec)),
    })
}

/// What antrea-controller says of enforcing the policy, if anything.
fn realizable(policy: &Value) -> Option<&Value> {
    let conditions = at(policy, "/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| text(condition, "/type") == "Realizable")
}

/// Tells the leader what became of the policy here, and by an Event when something has gone wrong, as upstream does. The status is a list that all members share: the version of the
/// object is checked, so that none overwrites what another has said meanwhile.
fn report(
    importer: &Importer,
    objects: &Objects,
    import: &ResourceImport,
    problem: Option<&Problem>,
    realizable: Option<&Value>,
    now: Timestamp,
) -> Vec<Action> {
    let name = import.metadata.name.as_deref().unwrap_or_default();
    let key = Key::new(Kind::ResourceImport, &importer.area, name);
    let Some(object) = objects.get(&key) else { return Vec::new() };
    let mut statuses: Vec<Value> =
        at(object, "/status/clusterStatuses").and_then(Value::as_array).cloned().unwrap_or_default();
    let own = statuses.iter().position(|status| text(status, "/clusterID") == importer.cluster.as_str());
    let before =
        own.and_then(|own| statuses[own].pointer("/conditions")?.as_array().cloned()).unwrap_or_default();
    let wanted = match problem {
        Some(problem) => Condition::new(condition_type::SUCCEEDED, "False", FAILED, problem.to_string()),
        None => Condition::new(condition_type::SUCCEEDED, "True", "", ""),
    };
    let mut condition = written(&before, &wanted, now);
    if let Some(fields) = condition.as_object_mut().filter(|_| problem.is_none()) {
        fields.retain(|_, value| value != "");
    }
    let conditions: Vec<&Value> = [&condition].into_iter().chain(realizable).collect();
    let status = json!({ "clusterID": importer.cluster.as_str(), "conditions": conditions });
    match own {
        Some(own) if difference(&statuses[own], &status).is_none() => return Vec::new(),
        Some(own) => statuses[own] = status,
        None => statuses.push(status),
    }
    let version = text(object, "/metadata/resourceVersion");
    let patch =
        json!({ "metadata": { "resourceVersion": version }, "status": { "clusterStatuses": statuses } });
    let is_news = !before.iter().any(|before| text(before, "/message") == wanted.message);
    let event = problem.filter(|_| is_news).map(|_| warning(&key, object, &wanted, now));
    std::iter::once(Action::PatchStatus(key, patch)).chain(event).collect()
}
