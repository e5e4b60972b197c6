//! `get`: objects of ClusterSets as tables, JSON or YAML.

mod rows;
mod token;

use std::io::Write;

use antrea_shared_api::multicluster::v1alpha1::{ResourceExport, ResourceImport};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use kube::ResourceExt;
use serde::Serialize;

use crate::cluster::{Cluster, Kind};
use crate::output::{self, Format};
use crate::values::WEEK;
use crate::{join_config, member_token};

#[derive(Debug, Subcommand)]
pub(crate) enum Get {
    /// Print ClusterSets, with the clusters that they know
    #[command(name = "clusterset", visible_alias = "clustersets")]
    ClusterSet(Objects),
    /// Print what members export, in the leader
    #[command(name = "resourceexport", visible_aliases = ["resourceexports", "re"])]
    ResourceExport {
        #[command(flatten)]
        objects: Objects,
        /// Only of this member
        #[arg(long, value_name = "ID")]
        cluster_id: Option<String>,
    },
    /// Print what members import, in the leader
    #[command(name = "resourceimport", visible_aliases = ["resourceimports", "ri"])]
    ResourceImport(Objects),
    /// Print the parameters for `join`, in the leader
    #[command(name = "joinconfig")]
    JoinConfig {
        /// The Namespace of the Common Area
        #[arg(short, long)]
        namespace: String,
        /// Print the Secret of this member token, too
        #[arg(long, value_name = "NAME")]
        member_token: Option<String>,
    },
    /// Print the credentials of members, in the leader; with -o as Secrets for the members
    #[command(name = "membertoken", visible_alias = "membertokens")]
    MemberToken(token::Tokens),
}

/// Which objects, and how.
#[derive(Debug, Args)]
pub(crate) struct Objects {
    /// Only this one
    name: Option<String>,

    /// The Namespace
    #[arg(short, long, default_value = "default")]
    namespace: String,

    /// Of all Namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "name"])]
    all_namespaces: bool,

    /// The format of what is printed
    #[arg(short, long, value_enum, default_value = "table")]
    output: Format,
}

pub(crate) async fn run(cluster: &Cluster, what: &Get, out: &mut dyn Write) -> Result<()> {
    let text = match what {
        Get::ClusterSet(objects) => objects.text::<ClusterSet>(cluster, |_| true, rows::cluster_sets).await?,
        Get::ResourceExport { objects, cluster_id } => {
            let chosen = |export: &ResourceExport| {
                cluster_id.as_ref().is_none_or(|cluster_id| export.spec.cluster_id == *cluster_id)
            };
            objects.text(cluster, chosen, rows::resource_exports).await?
        }
        Get::ResourceImport(objects) => {
            objects.text::<ResourceImport>(cluster, |_| true, rows::resource_imports).await?
        }
        Get::JoinConfig { namespace, member_token } => {
            join_config(cluster, namespace, member_token.as_deref()).await?
        }
        Get::MemberToken(tokens) => tokens.text(cluster).await?,
    };
    write!(out, "{text}")?;
    Ok(())
}

impl Objects {
    async fn text<K: Kind>(
        &self,
        cluster: &Cluster,
        chosen: impl Fn(&K) -> bool,
        people: impl Fn(&[K]) -> String,
    ) -> Result<String> {
        let namespace = (!self.all_namespaces).then_some(self.namespace.as_str());
        let mut objects: Vec<K> = cluster.list(namespace).await?;
        objects.retain(|object| {
            chosen(object) && self.name.as_ref().is_none_or(|name| object.name_any() == *name)
        });
        let kind = K::kind(&());
        match (&self.name, objects.as_slice()) {
            (Some(name), []) => {
                bail!("there is no {kind} {name:?} in Namespace {}: name another one with -n", self.namespace)
            }
            (None, []) => Ok(nothing(&kind, namespace)),
            (Some(_), [one]) => written(one, &objects, self.output, people),
            _ => written(&objects, &objects, self.output, people),
        }
    }
}

fn nothing(kind: &str, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("No {kind} found in Namespace {namespace}\n"),
        None => format!("No {kind} found\n"),
    }
}

fn written<K>(
    answer: &impl Serialize,
    objects: &[K],
    format: Format,
    people: impl Fn(&[K]) -> String,
) -> Result<String> {
    match format {
        Format::Table => Ok(people(objects)),
        Format::Json => output::json(answer),
        Format::Yaml => output::yaml(answer),
    }
}

async fn join_config(cluster: &Cluster, namespace: &str, token: Option<&str>) -> Result<String> {
    let sets: Vec<ClusterSet> = cluster.list(Some(namespace)).await?;
    let set = sets.first().with_context(|| {
        format!("there is no ClusterSet in Namespace {namespace}: make one with \"antctl mc init\"")
    })?;
    let secret = match token {
        Some(name) => Some(member_token::credential(cluster, namespace, name, WEEK).await?.manifest(name)),
        None => None,
    };
    join_config::text(set, &cluster.server, secret.as_ref())
}
