//! `leave`: ends the membership of this cluster. The controller removes what came from other clusters, and tells the leader.

use std::io::Write;
use std::time::Duration;

use antrea_kit::kube_client::Effect;
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use crate::cli::Leave;
use crate::cluster::{Cluster, Kind};
use crate::held_set;
use crate::objects::is_made_by_antctl;
use crate::objects::member_token::TOKEN_SECRET;
use crate::status::Standing;
use crate::wait;

/// How long the controller may take to tell the leader, and that one to remove what this cluster exported.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn run(cluster: &Cluster, options: &Leave, out: &mut dyn Write) -> Result<()> {
    let Leave { clusterset, namespace, now, keep } = options;
    let name = match clusterset {
        Some(name) if !keep => name,
        _ => return held_set::let_all_go(cluster, namespace, out).await,
    };
    delete_set(cluster, namespace, name, out).await?;
    if *now {
        held_set::let_go(cluster, namespace, name, out).await?;
    } else {
        wait_for_leader(cluster, namespace, name).await?;
    }
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

/// Waits until a ClusterSet that is being deleted has gone. The credentials are needed until then.
async fn wait_for_leader(cluster: &Cluster, namespace: &str, name: &str) -> Result<()> {
    let mut why = String::new();
    let gone = wait::until(TIMEOUT, async || {
        let set: Option<ClusterSet> = cluster.find(namespace, name).await?;
        let leaving = set.filter(is_leaving);
        why = leaving.as_ref().map(|set| Standing::of(set).why()).unwrap_or_default();
        Ok(leaving.is_none().then_some(()))
    });
    if gone.await?.is_none() {
        bail!("{}", still_there(namespace, name, &why));
    }
    Ok(())
}

/// The ClusterSets of a Namespace, as soon as there is none among them that is being deleted.
pub(crate) async fn left_sets(
    cluster: &Cluster,
    namespace: &str,
    out: &mut dyn Write,
) -> Result<Vec<ClusterSet>> {
    let mut leaving: Option<ClusterSet> = None;
    let sets = wait::until(TIMEOUT, async || {
        let sets: Vec<ClusterSet> = cluster.list(Some(namespace)).await?;
        let now = sets.iter().find(|set| is_leaving(set)).cloned();
        if let Some(set) = now.as_ref().filter(|_| leaving.is_none()) {
            writeln!(out, "Waiting until ClusterSet {:?} has been left", set.name_any())?;
        }
        leaving = now;
        Ok(leaving.is_none().then_some(sets))
    });
    let sets = sets.await?;
    sets.with_context(|| {
        let (name, why) = leaving.map(|set| (set.name_any(), Standing::of(&set).why())).unwrap_or_default();
        still_there(namespace, &name, &why)
    })
}

fn is_leaving(set: &ClusterSet) -> bool {
    set.metadata.deletion_timestamp.is_some()
}

fn still_there(namespace: &str, name: &str, why: &str) -> String {
    format!(
        "ClusterSet {name:?} in Namespace {namespace} is deleted, and still there after {} s: {why}. It goes by itself \
         when that is mended; \"antctl mc leave --clusterset {name} -n {namespace} --now\" does not wait, and the leader \
         is not told",
        TIMEOUT.as_secs()
    )
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
