//! `init`: makes this cluster the leader of a new ClusterSet.

use std::io::Write;

use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use anyhow::Result;

use crate::cli::Init;
use crate::cluster::{Cluster, Created};
use crate::join_config;
use crate::leave::left_sets;
use crate::objects::cluster_set::{self, of_leader};
use crate::output;

pub(crate) async fn run(cluster: &Cluster, options: &Init, out: &mut dyn Write) -> Result<()> {
    let Init { clusterset: name, clusterid, namespace, join_config_file } = options;
    let set = of_leader(namespace, name, clusterid);
    let there = left_sets(cluster, namespace, out).await?;
    let plan = cluster_set::plan(&set, &there)?;
    let mut created = Created::default();
    write_set(cluster, &set, plan, &mut created, out).await?;
    writeln!(out, "Successfully initialized ClusterSet {name}")?;
    writeln!(
        out,
        "You can run command \"antctl mc get joinconfig -n {namespace}\" to print the parameters needed for a member cluster to join the ClusterSet."
    )?;
    if let Some(path) = join_config_file {
        if let Err(error) = output::save(path, &join_config::text(&set, &cluster.server, None)?) {
            return Err(created.undo(cluster, error).await);
        }
        writeln!(out, "Saved ClusterSet join parameters to file: {}", path.display())?;
    }
    Ok(())
}

/// Does with a ClusterSet what there is to do.
pub(crate) async fn write_set(
    cluster: &Cluster,
    set: &ClusterSet,
    plan: cluster_set::Write,
    created: &mut Created,
    out: &mut dyn Write,
) -> Result<()> {
    let (name, namespace) = (
        set.metadata.name.as_deref().unwrap_or_default(),
        set.metadata.namespace.as_deref().unwrap_or_default(),
    );
    let what = match plan {
        cluster_set::Write::Create => {
            created.create(cluster, set).await?;
            "created"
        }
        cluster_set::Write::Update(set) => {
            cluster.replace(&*set).await?;
            "updated"
        }
        cluster_set::Write::Nothing => "already exists",
    };
    writeln!(out, "ClusterSet {name:?} {what} in Namespace {namespace}")?;
    Ok(())
}
