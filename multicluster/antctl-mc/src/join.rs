//! `join`: makes this cluster a member of a ClusterSet, and waits until the leader knows it. Said once more with a
//! new token, it renews the member's; with another address of the leader, the member goes there.

use std::io::Write;
use std::time::Duration;

use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use crate::cli::Join;
use crate::cluster::{Cluster, Created};
use crate::controller_config::{ControllerConfig, upgrade_command};
use crate::init::write_set;
use crate::join_config::{self, JoinConfig};
use crate::join_parameters::{self, JoinParameters, Token};
use crate::leave::left_sets;
use crate::objects::cluster_set;
use crate::objects::secret;
use crate::status::Standing;
use crate::wait;

/// How long the leader may take.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn run(cluster: &Cluster, flags: &Join, out: &mut dyn Write) -> Result<()> {
    let parameters = join_parameters::merge(flags, read_config(flags)?)?;
    let config = ControllerConfig::of(cluster, &parameters.namespace).await?;
    let readable = config.as_ref().and_then(ControllerConfig::token_secret);
    let source = read_token(&parameters.token)?.called(readable, &parameters.namespace)?;
    let there = left_sets(cluster, &parameters.namespace, out).await?;
    let set = parameters.cluster_set(named(readable, &there).unwrap_or(source.secret_name()));
    let plan = cluster_set::plan(&set, &there)?;
    let mut created = Created::default();
    let written = async {
        match &source {
            Source::Manifest(manifest) => {
                write_secret(cluster, &parameters, manifest, &mut created, out).await?;
            }
            Source::Existing(name) => check_secret(cluster, &parameters.namespace, name).await?,
        }
        write_set(cluster, &set, plan, &mut created, out).await
    };
    if let Err(error) = written.await {
        writeln!(out, "Failed to join the ClusterSet. Deleting the created resources")?;
        return Err(created.undo(cluster, error).await);
    }
    writeln!(out, "Waiting for ClusterSet ready")?;
    wait_for_leader(cluster, &parameters).await?;
    writeln!(out, "Member cluster joined successfully")?;
    Ok(())
}

fn read_config(flags: &Join) -> Result<JoinConfig> {
    let Some(path) = &flags.config_file else { return Ok(JoinConfig::default()) };
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    join_config::parse(&text).with_context(|| format!("{} cannot be used", path.display()))
}

/// Where the Secret of the member comes from.
enum Source {
    /// It is there.
    Existing(String),
    /// It is to be written.
    Manifest(Box<Secret>),
}

impl Source {
    fn secret_name(&self) -> &str {
        match self {
            Self::Existing(name) => name,
            Self::Manifest(secret) => secret.metadata.name.as_deref().unwrap_or_default(),
        }
    }

    /// The same in the Secret that the controller may read, if it may read but one.
    fn called(mut self, readable: Option<&str>, namespace: &str) -> Result<Self> {
        match (&mut self, readable) {
            (Self::Manifest(secret), Some(name)) => secret.metadata.name = Some(name.to_owned()),
            (Self::Existing(name), Some(readable)) if name.as_str() != readable => bail!(
                "the controller in Namespace {namespace} may read Secret {readable} alone: put the token there, or run \
                 \"{}\" first",
                upgrade_command(namespace, name)
            ),
            _ => {}
        }
        Ok(self)
    }
}

/// The Secret that a ClusterSet names which is there: the controller reads the one that it may, whatever that says.
fn named<'a>(readable: Option<&str>, there: &'a [ClusterSet]) -> Option<&'a str> {
    readable?;
    Some(there.first()?.spec.leaders.first()?.secret.as_str())
}

fn read_token(token: &Token) -> Result<Source> {
    match token {
        Token::Secret(name) => Ok(Source::Existing(name.clone())),
        Token::Manifest(secret) => Ok(Source::Manifest(secret.clone())),
        Token::File(path) => {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            let secret =
                secret::parse(&text).with_context(|| format!("{} cannot be used", path.display()))?;
            Ok(Source::Manifest(Box::new(secret)))
        }
    }
}

async fn write_secret(
    cluster: &Cluster,
    parameters: &JoinParameters,
    manifest: &Secret,
    created: &mut Created,
    out: &mut dyn Write,
) -> Result<()> {
    let name = manifest.name_any();
    let wanted = secret::of_member(&parameters.namespace, manifest);
    match secret::plan(wanted, cluster.find(&parameters.namespace, &name).await?)? {
        secret::Write::Create(secret) => {
            created.create(cluster, &secret).await?;
            writeln!(out, "Created member token Secret {name}")?;
        }
        secret::Write::Replace(secret) => {
            cluster.replace(&secret).await?;
            writeln!(out, "Updated member token Secret {name}")?;
        }
        secret::Write::Nothing => writeln!(out, "Member token Secret {name} already exists")?,
    }
    Ok(())
}

async fn check_secret(cluster: &Cluster, namespace: &str, name: &str) -> Result<()> {
    let secret: Option<Secret> = cluster.find(namespace, name).await?;
    let secret = secret.with_context(|| {
        format!("there is no Secret {name} in Namespace {namespace}: create it, or use --token-secret-file")
    })?;
    secret::check(&secret)
}

async fn wait_for_leader(cluster: &Cluster, parameters: &JoinParameters) -> Result<()> {
    let (namespace, name) = (&parameters.namespace, &parameters.cluster_set);
    let mut last = String::new();
    let ready = wait::until(TIMEOUT, async || {
        let set: Option<ClusterSet> = cluster.find(namespace, name).await?;
        let standing = set.as_ref().map(Standing::of);
        last = standing.as_ref().map(Standing::why).unwrap_or_default();
        let is_current = set.as_ref().is_some_and(cluster_set::is_current);
        Ok(standing.filter(|standing| is_current && standing.is_ready()))
    });
    if ready.await?.is_none() {
        bail!(
            "ClusterSet {name:?} in Namespace {namespace} is not ready after {} s: {last}; see \"antctl mc check\", or wait on with \"antctl mc status --wait\"",
            TIMEOUT.as_secs()
        );
    }
    Ok(())
}
