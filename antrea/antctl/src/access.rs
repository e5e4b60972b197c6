//! The way to the cluster: which kubeconfig, what the cluster is called, and the client.

use std::path::{Path, PathBuf};

use antrea_kit::kubeconfig::{UserAccess, user_access};
use anyhow::{Context, Result};
use kube::config::Kubeconfig;
use kube::{Client, Config};

const USER_AGENT: &str = concat!("antctl/", env!("CARGO_PKG_VERSION"));

/// Where the user says that the cluster is, or something of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) server: Option<String>,
}

impl Way {
    /// Where `antctl proxy` listens: without TLS, which no API server is asked without.
    pub(crate) fn proxy(&self) -> Option<&str> {
        self.server.as_deref().filter(|server| !server.starts_with("https://"))
    }

    /// Whether the user names a cluster, wherever this runs.
    pub(crate) fn names_cluster(&self) -> bool {
        self.kubeconfig.is_some() || self.server.is_some()
    }

    /// The cluster.
    pub(crate) async fn open(&self) -> Result<Access> {
        Access::open(self.kubeconfig.clone(), self.server.clone()).await
    }
}

/// A cluster that antctl talks to.
pub(crate) struct Access {
    pub(crate) client: Client,
    /// How the client was made.
    pub(crate) config: Config,
    /// As the kubeconfig calls it.
    pub(crate) cluster: String,
}

impl Access {
    pub(crate) async fn open(kubeconfig: Option<PathBuf>, server: Option<String>) -> Result<Self> {
        let UserAccess { config, kubeconfig } =
            user_access(kubeconfig, server.as_deref(), USER_AGENT).await?;
        let cluster = match &kubeconfig {
            Some(path) => cluster_name(path)?,
            None => "in-cluster".to_owned(),
        };
        let client =
            Client::try_from(config.clone()).context("cannot make a client of the Kubernetes API")?;
        Ok(Self { client, config, cluster })
    }
}

/// The cluster of the current context.
fn cluster_name(path: &Path) -> Result<String> {
    let kubeconfig = Kubeconfig::read_from(path)
        .with_context(|| format!("cannot use the kubeconfig {}", path.display()))?;
    let current = kubeconfig.current_context.unwrap_or_default();
    let context = kubeconfig.contexts.into_iter().find(|context| context.name == current);
    let cluster = context.and_then(|context| context.context).map(|context| context.cluster);
    Ok(cluster.unwrap_or(current))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_proxy_is_asked_without_tls() {
        let way = |server: &str| Way { kubeconfig: None, server: Some(server.to_owned()) };
        assert_eq!(way("127.0.0.1:8001").proxy(), Some("127.0.0.1:8001"));
        assert_eq!(way("http://127.0.0.1:8001").proxy(), Some("http://127.0.0.1:8001"));
        assert_eq!(way("https://127.0.0.1:6443").proxy(), None);
        assert_eq!(Way::default().proxy(), None);
    }

    #[test]
    fn the_cluster_is_called_as_the_current_context_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let text = "apiVersion: v1\nkind: Config\ncurrent-context: me\n\
                    contexts: [{name: me, context: {cluster: blue, user: me}}]\n";
        std::fs::write(&path, text).unwrap();
        assert_eq!(cluster_name(&path).unwrap(), "blue");
    }
}
