//! The way to the cluster that a command is about: a kubeconfig, or the credentials of the Pod.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use antrea_kit::kube_client;
use anyhow::{Context, Result};
use kube::Client;

use crate::cluster::Cluster;

pub(crate) async fn open(kubeconfig: Option<PathBuf>, server: Option<String>) -> Result<Cluster> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let variable = std::env::var_os("KUBECONFIG");
    let path = choose(kubeconfig, variable.as_deref(), home.as_deref(), |path| path.is_file());
    let access = kube_client::Access {
        kubeconfig: path.as_deref(),
        server: server.as_deref(),
        user_agent: concat!("antctl-mc/", env!("CARGO_PKG_VERSION")),
    };
    let config = kube_client::config(access).await;
    let config = match path {
        Some(_) => config?,
        None => {
            config.context("there is no kubeconfig: neither --kubeconfig, $KUBECONFIG nor ~/.kube/config")?
        }
    };
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let client = Client::try_from(config).context("cannot make a client of the Kubernetes API")?;
    Ok(Cluster { client, server })
}

/// The flag, else the first file of $KUBECONFIG that is there, else the user's own; none is the Pod's credentials.
fn choose(
    flag: Option<PathBuf>,
    variable: Option<&OsStr>,
    home: Option<&Path>,
    is_there: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let named = variable.into_iter().flat_map(std::env::split_paths);
    let own = home.map(|home| home.join(".kube/config"));
    flag.or_else(|| named.chain(own).find(|path| is_there(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_comes_before_the_variable_and_that_before_the_users_own_file() {
        let chosen = |flag: Option<&str>, there: &[&str]| {
            let variable = Some(OsStr::new("/no:/v"));
            let is_there = |path: &Path| there.iter().any(|there| Path::new(there) == path);
            choose(flag.map(PathBuf::from), variable, Some(Path::new("/home/a")), is_there)
                .map(|path| path.display().to_string())
        };
        let own = "/home/a/.kube/config";
        assert_eq!(chosen(Some("/f"), &["/v", own]).as_deref(), Some("/f"));
        assert_eq!(chosen(None, &["/v", own]).as_deref(), Some("/v"));
        assert_eq!(chosen(None, &[own]).as_deref(), Some(own));
        assert_eq!(chosen(None, &[]), None);
    }
}
