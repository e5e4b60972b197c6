//! A member's ClusterSet that is deleted stays until its leader knows: a finalizer holds it.

use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::untyped::Untyped;
use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use antrea_shared_api::multicluster::well_known::finalizer;
use anyhow::Result;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::Target;
use super::credentials::{secret_name, target};
use crate::action::Action;
use crate::kind::Kind;
use crate::objects::{Key, Objects, at, is_leaving, read, text};
use crate::send::FIELD_MANAGER;

/// The ClusterSet of `namespace` that is being deleted and held, and the way to its leader, or why there is none; nothing
/// before the Secret is known.
pub fn leaving(
    objects: &Objects,
    namespace: &str,
    configured: Option<&str>,
) -> Option<(Key, Result<Target, String>)> {
    let (key, set) = held(objects, namespace)?;
    if secret_name(objects, namespace, configured).is_some() && !objects.has_listed(Kind::Secret) {
        return None;
    }
    let target = match read::<ClusterSet>(set) {
        None => Err(format!("{key} cannot be read")),
        Some(set) => match set.spec.cluster_id.parse::<ClusterId>() {
            Err(error) => Err(format!("spec.clusterID: {error}")),
            Ok(cluster) => target(objects, key, &set, &cluster, configured),
        },
    };
    Some((key.clone(), target))
}

/// The first by name that is being deleted and held.
pub(super) fn held<'a>(objects: &'a Objects, namespace: &str) -> Option<(&'a Key, &'a Value)> {
    objects
        .all(Kind::ClusterSet)
        .find(|(key, set)| key.namespace == namespace && is_leaving(set) && is_held(set))
}

fn is_held(set: &Value) -> bool {
    finalizers(set).any(|name| name == finalizer::CLUSTER_SET)
}

/// What puts the finalizer on a ClusterSet that lacks it, and is not being deleted.
pub(super) fn hold(key: &Key, set: &Value) -> Option<Action> {
    if is_leaving(set) || is_held(set) {
        return None;
    }
    let all: Vec<&str> = finalizers(set).chain([finalizer::CLUSTER_SET]).collect();
    // A list is written as a whole: what somebody else adds to it at the same moment is not lost.
    let version = text(set, "/metadata/resourceVersion");
    let patch = json!({ "metadata": { "finalizers": all, "resourceVersion": version } });
    Some(Action::Patch(key.clone(), patch))
}

/// Takes the finalizer off a ClusterSet that is being deleted. Whether it has none now: it may have been changed at the same
/// moment.
pub(super) async fn release(local: &Client, key: &Key) -> Result<bool> {
    let api: Api<Untyped> = Api::namespaced_with(local.clone(), &key.namespace, &Kind::ClusterSet.resource());
    let Some(Untyped { object: set, .. }) = bounded(api.get_opt(&key.name)).await? else { return Ok(true) };
    if !is_leaving(&set) || !is_held(&set) {
        return Ok(true);
    }
    let others: Vec<&str> = finalizers(&set).filter(|name| *name != finalizer::CLUSTER_SET).collect();
    let version = text(&set, "/metadata/resourceVersion");
    let patch = Patch::Merge(json!({ "metadata": { "finalizers": others, "resourceVersion": version } }));
    let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match bounded(api.patch(&key.name, &parameters, &patch)).await {
        Ok(_) => Ok(true),
        Err(error) => match status_code(&error) {
            Some(404) => Ok(true),
            Some(409) => Ok(false),
            _ => Err(error),
        },
    }
}

fn finalizers(set: &Value) -> impl Iterator<Item = &str> {
    let all = at(set, "/metadata/finalizers").and_then(Value::as_array);
    all.into_iter().flatten().filter_map(Value::as_str)
}
