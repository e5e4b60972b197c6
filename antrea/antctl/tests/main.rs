//! The program as people run it.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn antctl(path: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_antctl"));
    command.args(arguments).env("PATH", path).env_remove("KUBECONFIG").output().unwrap()
}

#[test]
fn mc_is_the_plugin_on_the_path_with_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("antctl-mc");
    std::fs::write(&plugin, "#!/bin/sh\necho \"$@\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&plugin, PermissionsExt::from_mode(0o755)).unwrap();
    let output = antctl(folder.path(), &["-k", "/k", "mc", "get", "clusterset", "-A", "--help"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "--kubeconfig /k get clusterset -A --help\n");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn a_plugin_that_is_not_there_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let output = antctl(folder.path(), &["mc", "status"]);
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "Error: there is no antctl-mc on the PATH: it comes with Antrea Multi-cluster; put it into a folder of the PATH, beside antctl\n"
    );
    assert_eq!(output.status.code(), Some(1));
}
