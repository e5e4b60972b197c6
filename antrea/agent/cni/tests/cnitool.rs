//! The plugin as `cnitool` of containernetworking/cni runs it, with its list of networks and its cache of results.

use std::path::{Path, PathBuf};
use std::process::Command;

use antrea_e2e::cnitool;

use crate::node::{Node, config, on_node, skipped};
use crate::plugin::binary;
use crate::pod::Pod;

/// The program and the plugin. Where there is only one of them, says that the test is skipped, and why.
fn programs() -> Option<(PathBuf, PathBuf)> {
    let reason = match (cnitool::ensure_built(), binary()) {
        (Ok(tool), Some(plugin)) => return Some((tool, plugin)),
        (Err(error), _) => format!("{error:#}"),
        (Ok(_), None) => "antrea-cni is not built: cargo build -p antrea-cni".to_owned(),
    };
    skipped(&reason);
    None
}

/// What runs `cnitool` so that the results it keeps are its own: in /var/lib there may be those of a real runtime.
const WITH_OWN_CACHE: &str = "mount -t tmpfs cni /var/lib && mkdir /var/lib/cni && mount --bind $1 /var/lib/cni && shift && exec \"$@\"";

/// A directory with the list of one network in one version, and with the plugin under its name.
fn network(version: &str, plugin: &Path) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let entry = config(version, "");
    let list = format!(r#"{{"cniVersion":"{version}","name":"antrea","plugins":[{entry}]}}"#);
    std::fs::write(directory.path().join("10-antrea.conflist"), list).unwrap();
    // Not beside the list: libcni reads a folder of the network's name there.
    for folder in ["bin", "cache"] {
        std::fs::create_dir(directory.path().join(folder)).unwrap();
    }
    std::os::unix::fs::symlink(plugin, directory.path().join("bin/antrea")).unwrap();
    directory
}

/// Runs a command; returns whether it succeeded, and what was printed.
fn run(tool: &Path, command: &str, network: &Path, node: &Node, pod: &Pod) -> (bool, String) {
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", WITH_OWN_CACHE, "sh"])
        .args([&network.join("cache"), tool])
        .args([command, "antrea", &pod.netns()])
        .env("CNI_PATH", network.join("bin"))
        .env("NETCONFPATH", network)
        .env("CNI_ARGS", pod.args())
        .env("ANTREA_CNI_SOCKET", node.socket())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn cnitool_asks_for_the_status_adds_checks_and_deletes_in_every_version() {
    let Some((tool, plugin)) = programs() else { return };
    on_node(&["10.10.0.0/24", "fd00:10:10::/64"], async move |node| {
        let agent = node.agent().await;
        for version in ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] {
            let (directory, pod) = (network(version, &plugin), Pod::new("web", "unused"));
            let call = |command| run(&tool, command, directory.path(), &node, &pod);
            assert_eq!(call("status"), (true, String::new()));
            let (added, output) = call("add");
            assert!(added && output.contains("10.10.0."), "{output}");
            let (checked, output) = call("check");
            assert_eq!(checked, version >= "0.4.0", "{output}");
            assert_eq!(call("del"), (true, String::new()));
            agent.server.settled().await;
            assert_eq!(node.state(&agent), Vec::<String>::new());
            assert_eq!(call("del"), (true, String::new()), "as often as it is asked for");
        }
    });
}

#[test]
fn cnitool_gc_deletes_what_it_knows_and_is_told_that_it_names_no_attachments() {
    let Some((tool, plugin)) = programs() else { return };
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let (directory, pod) = (network("1.1.0", &plugin), Pod::new("web", "unused"));
        assert!(run(&tool, "add", directory.path(), &node, &pod).0);
        let (collected, output) = run(&tool, "gc", directory.path(), &node, &pod);
        assert!(!collected && output.contains("cni.dev/valid-attachments is missing"), "{output}");
        // The DEL that it began with is done when the kernel is done with the link.
        while !node.state(&agent).is_empty() {
            tokio::task::yield_now().await;
        }
    });
}
