//! The way to the cluster: which kubeconfig, what the cluster is called, and the client.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use antrea_kit::kube_client;
use anyhow::{Context, Result};
use kube::config::Kubeconfig;
use kube::{Client, Config};

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
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let variable = std::env::var_os("KUBECONFIG");
        let path = choose(kubeconfig, variable.as_deref(), home.as_deref(), |path| path.is_file());
        let cluster = match &path {
            Some(path) => cluster_name(path)?,
            None => "in-cluster".to_owned(),
        };
        let access = kube_client::Access {
            kubeconfig: path.as_deref(),
            server: server.as_deref(),
            user_agent: concat!("antctl/", env!("CARGO_PKG_VERSION")),
        };
        let config = kube_client::config(access).await;
        let config = match path {
            Some(_) => config?,
            None => config
                .context("there is no kubeconfig: neither --kubeconfig, $KUBECONFIG nor ~/.kube/config")?,
        };
        let client =
            Client::try_from(config.clone()).context("cannot make a client of the Kubernetes API")?;
        Ok(Self { client, config, cluster })
    }
}

/// The flag, else the first file of $KUBECONFIG that is there, else the user's own; none is the Pod's credentials.
fn choose(
    flag: Option<PathBuf>,
    variable: Option<&OsStr>,
    home: Option<&Path>,
    is_there: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let named = variable.into_iter().flat_map(std::env::split_paths).collect::<Vec<_>>();
    let own = home.map(|home| home.join(".kube/config"));
    flag.or_else(|| named.into_iter().find(|path| is_there(path)))
        .or_else(|| own.filter(|path| is_there(path)))
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

    fn chosen(flag: Option<&str>, variable: Option<&str>, there: &[&str]) -> Option<String> {
        let there: Vec<&Path> = there.iter().map(Path::new).collect();
        let home = Some(Path::new("/home/a"));
        let path =
            choose(flag.map(PathBuf::from), variable.map(OsStr::new), home, |path| there.contains(&path));
        path.map(|path| path.display().to_string())
    }

    #[test]
    fn a_flag_comes_before_the_variable_and_that_before_the_users_own_file() {
        let own = "/home/a/.kube/config";
        assert_eq!(chosen(Some("/f"), Some("/v"), &["/v", own]).as_deref(), Some("/f"));
        assert_eq!(chosen(None, Some("/no:/v"), &["/v", own]).as_deref(), Some("/v"));
        assert_eq!(chosen(None, Some("/no"), &[own]).as_deref(), Some(own));
        assert_eq!(chosen(None, None, &[]), None);
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
