//! `deploy`: installs the Multi-cluster controller by a manifest, without helm.

mod manifest;

use std::io::Write;
use std::path::PathBuf;

use antrea_kit::kube_client::{bounded, status_code};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ApiResource, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};

use crate::cluster::{Cluster, FIELD_MANAGER, plain};
use crate::values::own_version;
use manifest::{Part, objects};

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
    let (part, namespace, source) = match what {
        Deploy::Leader { namespace, source } => (Part::Leader, namespace, source),
        Deploy::Member { namespace, source } => (Part::Member, namespace, source),
    };
    let objects = match &source.manifest_file {
        Some(path) => {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            objects(part, &text, namespace).with_context(|| format!("{} cannot be used", path.display()))?
        }
        None => objects(part, part.manifest(), namespace)?,
    };
    ensure_namespace(cluster, namespace, out).await?;
    for object in &objects {
        apply(cluster, object).await?;
        writeln!(out, "{} {:?} applied", kind(object), object.name_any())?;
    }
    writeln!(out, "Wait for it: kubectl -n {namespace} rollout status deployment/antrea-mc-controller")?;
    Ok(())
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
