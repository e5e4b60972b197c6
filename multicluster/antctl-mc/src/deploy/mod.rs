//! `deploy`: installs the Multi-cluster controller by a manifest, without helm.

mod manifest;

use std::io::Write;
use std::path::PathBuf;

use antrea_kit::kube_client::{bounded, status_code};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ApiResource, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};

use crate::cluster::{Cluster, FIELD_MANAGER, plain};
use crate::values::own_version;
use manifest::{Part, Place, objects};

/// What `deploy` installs.
#[derive(Debug, Subcommand)]
pub(crate) enum Deploy {
    /// Install the controller of a leader
    #[command(name = "leadercluster")]
    Leader {
        /// The Namespace of the Common Area, and of the controller
        #[arg(short, long)]
        namespace: String,

        #[command(flatten)]
        source: Source,
    },
    /// Install the controller of a member
    #[command(name = "membercluster")]
    Member {
        /// The Namespace of the controller
        #[arg(short, long, default_value = "kube-system")]
        namespace: String,

        /// The Secret with the token for the leader, the one that the controller may read; otherwise the one that the
        /// ClusterSet names, or antrea-mc-leader-token
        #[arg(long, value_name = "NAME")]
        token_secret: Option<String>,

        #[command(flatten)]
        source: Source,
    },
}

/// Where the manifest comes from.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// The manifest; otherwise that of antctl's own version
    #[arg(short = 'f', long, value_name = "FILE")]
    manifest_file: Option<PathBuf>,

    /// The version to install, which is antctl's own: nothing is downloaded
    #[arg(long, value_name = "VERSION", conflicts_with = "manifest_file", value_parser = own_version)]
    antrea_version: Option<String>,
}

pub(crate) async fn run(cluster: &Cluster, what: &Deploy, out: &mut dyn Write) -> Result<()> {
    let (part, namespace, source, secret) = match what {
        Deploy::Leader { namespace, source } => (Part::Leader, namespace, source, None),
        Deploy::Member { namespace, source, token_secret } => {
            let of_set = named_secret(cluster, namespace).await?;
            (Part::Member, namespace, source, token_secret.clone().or(of_set))
        }
    };
    let place = Place { namespace, token_secret: secret.as_deref() };
    let objects = match &source.manifest_file {
        Some(path) => {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            objects(part, &text, place).with_context(|| format!("{} cannot be used", path.display()))?
        }
        None => objects(part, part.manifest(), place)?,
    };
    ensure_namespace(cluster, namespace, out).await?;
    for object in &objects {
        apply(cluster, object).await?;
        writeln!(out, "{} {:?} applied", kind(object), object.name_any())?;
    }
    writeln!(out, "Wait for it: kubectl -n {namespace} rollout status deployment/antrea-mc-controller")?;
    Ok(())
}

/// The Secret that the ClusterSet of a member names; nothing where the cluster has none, or does not know what that is.
async fn named_secret(cluster: &Cluster, namespace: &str) -> Result<Option<String>> {
    let sets = match bounded(cluster.api::<ClusterSet>(namespace).list(&ListParams::default())).await {
        Ok(sets) => sets.items,
        Err(error) if status_code(&error) == Some(404) => return Ok(None),
        Err(error) => return Err(plain(error)).context("cannot list ClusterSets"),
    };
    let mut leaders = sets.iter().filter_map(|set| set.spec.leaders.first());
    let named = leaders.find(|leader| !leader.server.is_empty() && !leader.secret.is_empty());
    Ok(named.map(|leader| leader.secret.clone()))
}

async fn ensure_namespace(cluster: &Cluster, name: &str, out: &mut dyn Write) -> Result<()> {
    let api: Api<Namespace> = Api::all(cluster.client.clone());
    match bounded(api.get(name)).await {
        Ok(_) => return Ok(()),
        Err(error) if status_code(&error) == Some(404) => {}
        Err(error) => return Err(plain(error)).with_context(|| format!("cannot read Namespace {name}")),
    }
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    bounded(api.create(&PostParams::default(), &namespace))
        .await
        .map_err(plain)
        .with_context(|| format!("cannot create Namespace {name}"))?;
    writeln!(out, "Namespace {name:?} created")?;
    Ok(())
}

/// Creates an object, or makes the one that is there what the manifest says. Fields that the manifest says nothing of
/// stay, as the certificates that the controller adds to webhooks.
async fn apply(cluster: &Cluster, object: &DynamicObject) -> Result<()> {
    let types = object.types.clone().unwrap_or_default();
    let kind = GroupVersionKind::try_from(&types)
        .with_context(|| format!("{:?} is no apiVersion", types.api_version))?;
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(cluster.client.clone(), namespace, &resource),
        None => Api::all_with(cluster.client.clone(), &resource),
    };
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    bounded(api.patch(&object.name_any(), &parameters, &Patch::Apply(object)))
        .await
        .map_err(plain)
        .map(drop)
        .with_context(|| format!("cannot apply {} {:?}", types.kind, object.name_any()))
}

fn kind(object: &DynamicObject) -> &str {
    object.types.as_ref().map_or("", |types| &types.kind)
}
