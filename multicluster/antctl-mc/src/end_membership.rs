//! What is left at the leader of a member whose token was deleted, and how it ends. A cluster without token is a member still:
//! it may get another one.

use std::io::Write;
use std::time::Duration;

use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounce;
use antrea_shared_api::multicluster::well_known::announce_name;
use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::ResourceExt;

use crate::cluster::Cluster;
use crate::objects::member_token::member;
use crate::wait;

/// How long the leader may take to remove what a member exported.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Says what the cluster `id` has left, where it was a member.
pub(crate) async fn tell(cluster: &Cluster, namespace: &str, id: &str, out: &mut dyn Write) -> Result<()> {
    let announce = announce_name(id);
    if cluster.find::<MemberClusterAnnounce>(namespace, &announce).await?.is_none() {
        return Ok(());
    }
    if let Some(account) = other_account(cluster, namespace, id).await? {
        writeln!(out, "Cluster {id:?} goes on with another token, of ServiceAccount {account:?}")?;
        return Ok(());
    }
    writeln!(
        out,
        "Cluster {id:?} is refused from now on. It stays a member: others leave its endpoints out after \
         leader.memberLease, 5 minutes by default, and keep its Services and routes. To remove all that it exported: \
         \"kubectl -n {namespace} delete memberclusterannounce {announce}\""
    )?;
    Ok(())
}

/// Ends the membership of the cluster `id`.
pub(crate) async fn end(cluster: &Cluster, namespace: &str, id: &str, out: &mut dyn Write) -> Result<()> {
    if let Some(account) = other_account(cluster, namespace, id).await? {
        bail!(
            "cluster {id:?} has another token, and stays a member: delete ServiceAccount {account:?} first"
        );
    }
    let announce = announce_name(id);
    let mut was_there = false;
    let gone = wait::until(TIMEOUT, async || {
        let Some(there) = cluster.find::<MemberClusterAnnounce>(namespace, &announce).await? else {
            return Ok(Some(()));
        };
        was_there = true;
        // A heartbeat that was under way may have made another one.
        if there.metadata.deletion_timestamp.is_none() {
            cluster.delete::<MemberClusterAnnounce>(namespace, &announce).await?;
        }
        Ok(None)
    });
    gone.await?.with_context(|| {
        format!(
            "MemberClusterAnnounce {namespace}/{announce} is still there after {} s: it goes when the leader's controller has \
             removed what cluster {id:?} exported; is that one running?",
            TIMEOUT.as_secs()
        )
    })?;
    if was_there {
        writeln!(out, "MemberClusterAnnounce {announce:?} deleted, and all that cluster {id:?} exported")?;
    }
    Ok(())
}

/// A ServiceAccount that is bound to the same cluster.
async fn other_account(cluster: &Cluster, namespace: &str, id: &str) -> Result<Option<String>> {
    let accounts: Vec<ServiceAccount> = cluster.list(Some(namespace)).await?;
    let other = accounts.iter().find(|account| member(account) == Some(id));
    Ok(other.map(ResourceExt::name_any))
}
