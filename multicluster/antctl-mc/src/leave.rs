//! `leave`: ends the membership of this cluster. The controller removes what came from other clusters.

use std::io::Write;

use antrea_kit::kube_client::Effect;
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use anyhow::Result;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use crate::cli::Leave;
use crate::cluster::{Cluster, Kind};
use crate::objects::is_made_by_antctl;
use crate::objects::member_token::TOKEN_SECRET;

pub(crate) async fn run(cluster: &Cluster, options: &Leave, out: &mut dyn Write) -> Result<()> {
    let Leave { clusterset, namespace } = options;
    delete_set(cluster, namespace, clusterset, out).await?;
    // Where leader and member share a Namespace, credentials of other members stay.
    let is_own = |secret: &Secret| secret.type_.as_deref() != Some(TOKEN_SECRET);
    delete_made(cluster, namespace, is_own, out).await
}

pub(crate) async fn delete_set(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    out: &mut dyn Write,
) -> Result<()> {
    match cluster.delete::<ClusterSet>(namespace, name).await? {
        Effect::Changed => writeln!(out, "ClusterSet {name:?} deleted in Namespace {namespace}")?,
        Effect::Unchanged => writeln!(out, "ClusterSet {name:?} not found in Namespace {namespace}")?,
    }
    Ok(())
}

/// Deletes what antctl made, of one kind.
pub(crate) async fn delete_made<K: Kind>(
    cluster: &Cluster,
    namespace: &str,
    chosen: impl Fn(&K) -> bool,
    out: &mut dyn Write,
) -> Result<()> {
    let objects: Vec<K> = cluster.list(Some(namespace)).await?;
    for object in objects.iter().filter(|object| is_made_by_antctl(*object) && chosen(object)) {
        let name = object.name_any();
        if cluster.delete::<K>(namespace, &name).await? == Effect::Changed {
            writeln!(out, "{} {name:?} deleted in Namespace {namespace}", K::kind(&()))?;
        }
    }
    Ok(())
}
