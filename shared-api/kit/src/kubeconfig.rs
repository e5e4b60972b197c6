//! The way of a person's program to a cluster: a kubeconfig, or the credentials of the Pod that it runs in.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use kube::config::Config;

use crate::kube_client;

/// What a program's flags, environment and user lead to.
pub struct UserAccess {
    /// What a client is made from.
    pub config: Config,
    /// The kubeconfig; none where the credentials are the Pod's.
    pub kubeconfig: Option<PathBuf>,
}

/// Finds the kubeconfig: the flag's, else the first file of `$KUBECONFIG` that is there, else `~/.kube/config`.
///
/// # Errors
/// When there are no usable credentials.
pub async fn user_access(
    flag: Option<PathBuf>,
    server: Option<&str>,
    user_agent: &str,
) -> anyhow::Result<UserAccess> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let variable = std::env::var_os("KUBECONFIG");
    let kubeconfig = choose(flag, variable.as_deref(), home.as_deref(), |path| path.is_file());
    let access = kube_client::Access { kubeconfig: kubeconfig.as_deref(), server, user_agent };
    let config = kube_client::config(access).await;
    let config = match kubeconfig {
        Some(_) => config?,
        None => {
            config.context("there is no kubeconfig: neither --kubeconfig, $KUBECONFIG nor ~/.kube/config")?
        }
    };
    Ok(UserAccess { config, kubeconfig })
}

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

    fn chosen(flag: Option<&str>, variable: Option<&str>, there: &[&str]) -> Option<String> {
        let is_there = |path: &Path| there.iter().any(|there| Path::new(there) == path);
        let home = Some(Path::new("/home/a"));
        let path = choose(flag.map(PathBuf::from), variable.map(OsStr::new), home, is_there);
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
}
