//! Which cluster this is, whatever it is called: clusters that were copied share ID and token, and must not take turns.

use antrea_kit::kube_client::{bounded, status_code};
use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounce;
use antrea_shared_api::multicluster::well_known::announce_name;
use anyhow::{Context, Error, Result};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, Client};

use super::Target;

/// A Namespace that every cluster has from its first day on, and that is never deleted.
const KUBE_SYSTEM: &str = "kube-system";

/// The UID of this cluster.
pub(super) async fn own_uid(local: &Client) -> Result<String> {
    let api: Api<Namespace> = Api::all(local.clone());
    let namespace = bounded(api.get(KUBE_SYSTEM)).await;
    let namespace = namespace.context("cannot read Namespace kube-system of this cluster")?;
    namespace.metadata.uid.context("Namespace kube-system of this cluster has no UID")
}

/// Whether an announce is that of the cluster with this UID; those of upstream do not say.
fn is_of(announce: &MemberClusterAnnounce, uid: &str) -> bool {
    announce.cluster_uid.is_empty() || announce.cluster_uid == uid
}

/// Whether a refusal comes of another cluster that has our ID. Where nobody can tell, it is taken for some other reason.
pub(super) async fn is_anothers(error: &Error, client: &Client, target: &Target, uid: &str) -> bool {
    if status_code(error) != Some(403) {
        return false;
    }
    let api: Api<MemberClusterAnnounce> = Api::namespaced(client.clone(), &target.area);
    let announce = bounded(api.get_opt(&announce_name(target.cluster.as_str()))).await;
    matches!(announce, Ok(Some(announce)) if !is_of(&announce, uid))
}

/// Has the leader delete the announce of this cluster, and of no other. Whether there is none any more: one goes when the
/// leader has removed what the cluster exported.
pub(super) async fn say_goodbye(leader: &Client, target: &Target, uid: &str) -> Result<bool> {
    let api: Api<MemberClusterAnnounce> = Api::namespaced(leader.clone(), &target.area);
    let name = announce_name(target.cluster.as_str());
    let metadata = match bounded(api.get(&name)).await {
        Ok(announce) if is_of(&announce, uid) => announce.metadata,
        Ok(_) => return Ok(true),
        Err(error) if is_not_there(&error) => return Ok(true),
        Err(error) => return Err(error.context("cannot read the announce")),
    };
    if metadata.deletion_timestamp.is_some() {
        return Ok(false);
    }
    // A cluster that has joined again meanwhile, and sent a heartbeat, has another version of it.
    let preconditions = Preconditions { uid: metadata.uid, resource_version: metadata.resource_version };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match bounded(api.delete(&name, &parameters)).await {
        Ok(answer) => Ok(answer.left().is_none_or(|left| left.metadata.deletion_timestamp.is_none())),
        Err(error) => match status_code(&error) {
            Some(404) => Ok(true),
            Some(409) => Ok(false),
            _ => Err(error.context("cannot delete the announce")),
        },
    }
}

/// Whether an API server says that there is no such object. One that does not know the kind answers otherwise, with no status
/// of Kubernetes: it may just be starting.
fn is_not_there(error: &Error) -> bool {
    let Some(kube::Error::Api(status)) = error.downcast_ref() else { return false };
    status.code == 404 && status.reason == "NotFound"
}
