//! The finalizer that holds a member's ClusterSet until its leader knows that the cluster leaves.

use std::io::Write;
use std::time::Duration;

use antrea_kit::kube_client::{bounded, status_code};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use antrea_shared_api::multicluster::well_known::{announce_name, finalizer};
use anyhow::{Context, Result};
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::cluster::{Cluster, FIELD_MANAGER, plain};
use crate::wait;

/// How long somebody else may change a ClusterSet again and again.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Lets a ClusterSet go that is being deleted, if it is held, and says what the leader does not know.
pub(crate) async fn let_go(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    out: &mut dyn Write,
) -> Result<()> {
    let Some(set) = take_off(cluster, namespace, name).await? else { return Ok(()) };
    let (area, id) = (&set.spec.namespace, &set.spec.cluster_id);
    writeln!(
        out,
        "The leader may not know that cluster {id:?} has left. There run \"kubectl -n {area} delete --ignore-not-found \
         memberclusterannounce {}\", which removes all that it exported",
        announce_name(id)
    )?;
    Ok(())
}

/// Nobody tells their leaders any more: ClusterSets that are deleted later go at once.
pub(crate) async fn let_all_go(cluster: &Cluster, namespace: &str, out: &mut dyn Write) -> Result<()> {
    let sets: Vec<ClusterSet> = cluster.list(Some(namespace)).await?;
    for name in sets.iter().map(ResourceExt::name_any) {
        if take_off(cluster, namespace, &name).await?.is_some() {
            writeln!(
                out,
                "ClusterSet {name:?} in Namespace {namespace} waits for no leader when it is deleted"
            )?;
        }
    }
    Ok(())
}

/// Takes the finalizer off a ClusterSet; gives the ClusterSet if it was there.
async fn take_off(cluster: &Cluster, namespace: &str, name: &str) -> Result<Option<ClusterSet>> {
    let done = wait::until(TIMEOUT, async || {
        let set: Option<ClusterSet> = cluster.find(namespace, name).await?;
        let Some((set, patch)) = set.and_then(|set| without_finalizer(&set).map(|patch| (set, patch))) else {
            return Ok(Some(None));
        };
        let api = cluster.api::<ClusterSet>(namespace);
        let parameters =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match bounded(api.patch(name, &parameters, &Patch::Merge(patch))).await {
            Ok(_) => Ok(Some(Some(set))),
            Err(error) => match status_code(&error) {
                Some(404) => Ok(Some(None)),
                // The controller has written its status meanwhile.
                Some(409) => Ok(None),
                _ => {
                    Err(plain(error)).with_context(|| format!("cannot change ClusterSet {namespace}/{name}"))
                }
            },
        }
    });
    done.await?.with_context(|| format!("ClusterSet {namespace}/{name} changes all the time: try again"))
}

/// The patch that takes the finalizer off this version; nothing where it has none.
fn without_finalizer(set: &ClusterSet) -> Option<Value> {
    let (others, own): (Vec<&String>, Vec<&String>) =
        set.finalizers().iter().partition(|name| *name != finalizer::CLUSTER_SET);
    let metadata = json!({ "finalizers": others, "resourceVersion": set.metadata.resource_version });
    (!own.is_empty()).then(|| json!({ "metadata": metadata }))
}
