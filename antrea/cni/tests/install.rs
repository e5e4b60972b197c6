//! `antrea-cni install` as the init container runs it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const LIST: &str = include_str!("golden/antrea-cni.conflist");

/// A directory with what an image holds, and the directories of a Node.
struct Node(tempfile::TempDir);

impl Node {
    fn with_list(list: &str) -> Self {
        let node = Self(tempfile::tempdir().unwrap());
        for directory in ["image", "bin", "net.d"] {
            fs::create_dir(node.path(directory)).unwrap();
        }
        for plugin in ["portmap", "bandwidth", "loopback"] {
            fs::write(node.path("image").join(plugin), plugin).unwrap();
        }
        fs::write(node.path("list"), list).unwrap();
        node
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// Installs, and returns what was complained about.
    fn install(&self, more: &[&str]) -> Result<(), String> {
        let output = Command::new(env!("CARGO_BIN_EXE_antrea-cni"))
            .arg("install")
            .args([Path::new("--bin-dir"), &self.path("bin"), Path::new("--conf-file"), &self.path("list")])
            .args([
                Path::new("--conf-dir"),
                &self.path("net.d"),
                Path::new("--plugin-dir"),
                &self.path("image"),
            ])
            .args(more)
            .output()
            .unwrap();
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8(output.stderr).unwrap()),
        }
    }

    /// Names and permissions of what a directory holds.
    fn listing(&self, directory: &str) -> Vec<String> {
        let entry = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            format!("{mode:o} {}", entry.file_name().to_string_lossy())
        };
        let mut entries: Vec<String> = fs::read_dir(self.path(directory)).unwrap().map(entry).collect();
        entries.sort();
        entries
    }
}

#[test]
fn plugins_and_list_are_installed_over_what_is_there() {
    let node = Node::with_list(LIST);
    fs::write(node.path("bin/antrea"), "an older release").unwrap();
    fs::write(node.path("net.d/10-antrea.conf"), "an older release").unwrap();
    node.install(&[]).unwrap();
    node.install(&[]).unwrap();

    assert_eq!(node.listing("bin"), ["755 antrea", "755 bandwidth", "755 loopback", "755 portmap"]);
    assert_eq!(node.listing("net.d"), ["644 10-antrea.conflist"]);
    assert_eq!(fs::read_to_string(node.path("net.d/10-antrea.conflist")).unwrap(), LIST);
    let installed = fs::read(node.path("bin/antrea")).unwrap();
    assert!(installed == fs::read(env!("CARGO_BIN_EXE_antrea-cni")).unwrap(), "the binary installs itself");
}

#[test]
fn skipped_plugins_are_left_alone() {
    let node = Node::with_list(LIST);
    node.install(&["--skip", "portmap", "--skip", "bandwidth"]).unwrap();
    assert_eq!(node.listing("bin"), ["755 antrea", "755 loopback"]);
}

#[test]
fn a_malformed_list_is_refused_before_anything_is_written() {
    let node = Node::with_list("{\"cniVersion\": \"1.0.0\",\n  \"plugins\": [}");
    let expected = format!(
        "antrea-cni: {} is refused: cannot read the network configuration list: expected value at line 2 column 15\n",
        node.path("list").display()
    );
    assert_eq!(node.install(&[]), Err(expected));
    assert!(node.listing("bin").is_empty() && node.listing("net.d").is_empty());
}

#[test]
fn a_plugin_that_the_image_lacks_is_named() {
    let node = Node::with_list(LIST);
    fs::remove_file(node.path("image/loopback")).unwrap();
    let problem = node.install(&[]).unwrap_err();
    assert!(problem.contains("cannot install") && problem.contains("image/loopback"), "{problem}");
    assert!(node.listing("net.d").is_empty(), "the list comes last");
}

/// Either the machine's kernel has the module, or it is told that it has not before anything is written.
#[test]
fn a_kernel_without_the_module_of_its_datapath_is_told_before_anything_is_written() {
    let node = Node::with_list(LIST);
    match node.install(&["--datapath", "system"]) {
        Ok(()) => assert!(Path::new("/sys/module/openvswitch").exists()),
        Err(problem) => {
            assert!(problem.contains("the Node's kernel has no ovs_datapath"), "{problem}");
            assert!(node.listing("bin").is_empty() && node.listing("net.d").is_empty());
        }
    }
    node.install(&["--datapath", "netdev"]).unwrap();
    assert_eq!(node.listing("net.d"), ["644 10-antrea.conflist"]);
}
