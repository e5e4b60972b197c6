//! The way to the cluster that a command is about.

use std::path::PathBuf;

use antrea_kit::kubeconfig::user_access;
use anyhow::{Context, Result};
use kube::Client;

use crate::cluster::Cluster;

const USER_AGENT: &str = concat!("antctl-mc/", env!("CARGO_PKG_VERSION"));

pub(crate) async fn open(kubeconfig: Option<PathBuf>, server: Option<String>) -> Result<Cluster> {
    let config = user_access(kubeconfig, server.as_deref(), USER_AGENT).await?.config;
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let client = Client::try_from(config).context("cannot make a client of the Kubernetes API")?;
    Ok(Cluster { client, server })
}
