//! Commands of other products: `antctl mc …` is the program `antctl-mc` on the PATH, as kubectl runs its plugins.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cli::Mc;

const MC: &str = "antctl-mc";

/// Becomes the plugin; the flags that stood before `mc` stand before its command.
pub(crate) fn become_mc(kubeconfig: Option<&Path>, server: Option<&str>, mc: &Mc) -> Result<Infallible> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = find(&path, is_executable).with_context(|| {
        format!(
            "there is no {MC} on the PATH: it comes with Antrea Multi-cluster; put it into a folder of the PATH, beside antctl"
        )
    })?;
    let error = Command::new(&program).args(arguments(kubeconfig, server, mc)).exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}

/// Looks in absolute folders alone: what lies in the current one is nobody's plugin.
fn find(path: &OsStr, is_executable: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(MC)).find(|program| is_executable(program))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn arguments(kubeconfig: Option<&Path>, server: Option<&str>, mc: &Mc) -> Vec<OsString> {
    let flag = |name: &str, value: Option<&OsStr>| value.map(|value| [name.into(), value.to_owned()]);
    let kubeconfig = flag("--kubeconfig", kubeconfig.map(Path::as_os_str));
    let server = flag("--server", server.map(OsStr::new));
    let before = kubeconfig.into_iter().chain(server).flatten();
    before.chain(mc.arguments.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Arguments, Command};

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let Arguments { kubeconfig, server, command } = Arguments::try_parse_from(line.split(' ')).unwrap();
        let Command::Mc(mc) = command else { panic!("{line}") };
        let arguments = arguments(kubeconfig.as_deref(), server.as_deref(), &mc);
        assert_eq!(arguments.join(OsStr::new(" ")), expected);
    }

    #[test]
    fn all_that_follows_is_the_plugins() {
        check("antctl mc get clusterset -A", "get clusterset -A");
        check("antctl mc join -f a.yaml --clusterid c5", "join -f a.yaml --clusterid c5");
        check("antctl mc --help", "--help");
        check("antctl mc get -h", "get -h");
        check("antctl mc", "");
    }

    #[test]
    fn the_way_to_the_cluster_is_handed_on() {
        check("antctl -k /k mc status", "--kubeconfig /k status");
        check("antctl mc status -k /k", "status -k /k");
        check("antctl -s https://a mc status --wait", "--server https://a status --wait");
    }

    #[test]
    fn the_first_program_of_the_path_is_run() {
        let found = |there: &str| find(OsStr::new(":bin:/a:/b"), |path| path == Path::new(there));
        assert_eq!(found("/b/antctl-mc"), Some(PathBuf::from("/b/antctl-mc")));
        assert_eq!(found("/c/antctl-mc"), None);
        assert_eq!(found("antctl-mc"), None);
    }
}
