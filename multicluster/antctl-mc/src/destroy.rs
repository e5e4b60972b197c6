//! `destroy`: removes the ClusterSet from its leader, once its members have left.

use std::io::Write;

use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounce;
use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::ResourceExt;

use crate::cli::Destroy;
use crate::cluster::Cluster;
use crate::leave::{delete_made, delete_set};
use crate::objects::member_token::TOKEN_SECRET;

pub(crate) async fn run(cluster: &Cluster, options: &Destroy, out: &mut dyn Write) -> Result<()> {
    let Destroy { clusterset, namespace } = options;
    let announces: Vec<MemberClusterAnnounce> = cluster.list(Some(namespace)).await?;
    let members: Vec<&str> = announces.iter().map(|announce| announce.cluster_id.as_str()).collect();
    ensure!(
        members.is_empty(),
        "clusters are still members of ClusterSet {clusterset:?}: {}; run \"antctl mc leave\" in each, or delete the MemberClusterAnnounce {} of one that is gone for good",
        members.join(", "),
        announces.first().map(ResourceExt::name_any).unwrap_or_default()
    );
    delete_set(cluster, namespace, clusterset, out).await?;
    let is_token = |secret: &Secret| secret.type_.as_deref() == Some(TOKEN_SECRET);
    delete_made(cluster, namespace, is_token, out).await?;
    delete_made::<ServiceAccount>(cluster, namespace, |_| true, out).await?;
    delete_made::<RoleBinding>(cluster, namespace, |_| true, out).await?;
    delete_made::<Role>(cluster, namespace, |_| true, out).await
}
