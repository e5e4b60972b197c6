//! Which cluster this is, whatever it is called: clusters that were copied share ID and token, and must not take turns.

use antrea_kit::kube_client::{bounded, status_code};
use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounce;
use antrea_shared_api::multicluster::well_known::announce_name;
use anyhow::{Context, Result};
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
pub(super) async fn is_anothers(error: &anyhow::Error, client: &Client, target: &Target, uid: &str) -> bool {
    if status_code(error) != Some(403) {
        return false;
    }
    let api: Api<MemberClusterAnnounce> = Api::namespaced(client.clone(), &target.area);
    let announce = bounded(api.get_opt(&announce_name(target.cluster.as_str()))).await;
    matches!(announce, Ok(Some(announce)) if !is_of(&announce, uid))
}

/// Deletes the announce of this cluster, and of no other; says whether there was one.
pub(super) async fn say_goodbye(local: &Client, leader: &Client, target: &Target) -> Result<bool> {
    let api: Api<MemberClusterAnnounce> = Api::namespaced(leader.clone(), &target.area);
    let name = announce_name(target.cluster.as_str());
    let uid = own_uid(local).await?;
    let announce = bounded(api.get_opt(&name)).await.context("cannot read the announce")?;
    let Some(announce) = announce.filter(|announce| is_of(announce, &uid)) else { return Ok(false) };
    let preconditions = Preconditions { uid: announce.metadata.uid, resource_version: None };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match bounded(api.delete(&name, &parameters)).await {
        Err(error) if !matches!(status_code(&error), Some(404 | 409)) => {
            Err(error.context("cannot delete the announce"))
        }
        _ => Ok(true),
    }
}
