//! What a Pod sees of its Node: CNI configuration, the kernel module of Open vSwitch, ports that are taken.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Folders of the Node that are looked at, and where the Pod has them. Kernel modules lie in `/lib/modules`, which a
/// Node need not have: a container runtime would make it.
pub(super) const FOLDERS: [(&str, &str, &str); 2] =
    [("cni-conf", "/etc/cni/net.d", "/host/etc/cni/net.d"), ("lib", "/lib", "/host/lib")];

/// A Node, from inside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    /// The files of the CNI configuration, in the order in which a container runtime looks at them.
    pub(super) cni_files: Vec<String>,
    /// The kernel's release, such as `6.1.0-30-amd64`.
    pub(super) kernel: String,
    pub(super) openvswitch: Module,
    /// Which of the ports in question somebody listens at, TCP or UDP.
    pub(super) taken_ports: Vec<u16>,
}

/// A kernel module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Module {
    /// It is loaded, or part of the kernel.
    Present,
    /// The kernel loads it when it is needed.
    Loadable,
    /// This kernel has none.
    Missing,
    /// The Node has no list of its modules where lists are.
    #[default]
    Unknown,
}

/// `antctl check node`: prints the facts as a line of JSON.
pub(crate) fn print_node_facts(ports: &[u16]) -> Result<ExitCode> {
    let facts = read(Path::new("/"), Path::new("/host"), ports)?;
    println!("{}", serde_json::to_string(&facts).context("the facts are no JSON")?);
    Ok(ExitCode::SUCCESS)
}

/// Reads them: /proc and /sys below `root`, files below `host`. What cannot be read is not there: only the kernel's
/// release always is.
fn read(root: &Path, host: &Path, ports: &[u16]) -> Result<Facts> {
    let text = |path: &str| fs::read_to_string(root.join(path));
    let kernel = text("proc/sys/kernel/osrelease").context("cannot read the kernel's release")?;
    let kernel = kernel.trim().to_owned();
    let list = |name: &str| fs::read_to_string(host.join("lib/modules").join(&kernel).join(name)).ok();
    let loaded = root.join("sys/module/openvswitch").exists();
    let openvswitch = module(loaded, list("modules.builtin").as_deref(), list("modules.dep").as_deref());
    let tables = ["tcp", "tcp6", "udp", "udp6"].map(|table| text(&format!("proc/net/{table}")));
    let sockets: Vec<u16> = tables.iter().flatten().flat_map(|table| bound_ports(table)).collect();
    let taken_ports = ports.iter().copied().filter(|port| sockets.contains(port)).collect();
    let entries = fs::read_dir(host.join("etc/cni/net.d"));
    let names = entries.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut cni_files: Vec<String> = names.filter(|name| is_cni_configuration(name)).collect();
    cni_files.sort();
    Ok(Facts { cni_files, kernel, openvswitch, taken_ports })
}

/// Container runtimes look at no other files.
fn is_cni_configuration(name: &str) -> bool {
    [".conf", ".conflist", ".json"].iter().any(|suffix| name.ends_with(suffix))
}

fn module(loaded: bool, builtin: Option<&str>, dependencies: Option<&str>) -> Module {
    // Files of modules may be compressed: openvswitch.ko.xz
    let names_it = |list: Option<&str>| list.is_some_and(|list| list.contains("/openvswitch.ko"));
    if loaded || names_it(builtin) {
        Module::Present
    } else if names_it(dependencies) {
        Module::Loadable
    } else if dependencies.is_some() {
        Module::Missing
    } else {
        Module::Unknown
    }
}

/// The local ports of a table of `/proc/net` at which somebody waits: TCP in LISTEN (0A), UDP without a peer (07).
fn bound_ports(table: &str) -> Vec<u16> {
    let port = |line: &str| {
        let mut words = line.split_whitespace();
        let (local, state) = (words.nth(1)?, words.nth(1)?);
        let (_, port) = local.rsplit_once(':')?;
        ["0A", "07"].contains(&state).then(|| u16::from_str_radix(port, 16).ok()).flatten()
    };
    table.lines().skip(1).filter_map(port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:286E 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0100007F:286D 0100007F:1234 01 00000000:00000000 00:00000000 00000000     0        0 2 1
";

    #[test]
    fn a_port_is_taken_when_somebody_listens() {
        assert_eq!(bound_ports(TCP), [10350]);
        assert!(bound_ports("").is_empty());
    }

    #[test]
    fn the_module_is_looked_for_where_kernels_list_theirs() {
        let line = Some("kernel/net/openvswitch/openvswitch.ko.xz: kernel/lib/libcrc32c.ko\n");
        assert_eq!(module(true, None, None), Module::Present);
        assert_eq!(module(false, line, Some("")), Module::Present);
        assert_eq!(module(false, Some(""), line), Module::Loadable);
        assert_eq!(module(false, Some(""), Some("kernel/net/vport-geneve.ko:")), Module::Missing);
        assert_eq!(module(false, None, None), Module::Unknown);
    }

    #[test]
    fn a_node_is_read_from_its_files() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/sys/kernel/osrelease", "6.1.0\n");
        write("proc/net/tcp", TCP);
        write("host/lib/modules/6.1.0/modules.dep", "kernel/net/openvswitch/openvswitch.ko:\n");
        write("host/etc/cni/net.d/10-flannel.conflist", "{}");
        write("host/etc/cni/net.d/05-cilium.conf", "{}");
        write("host/etc/cni/net.d/README", "");
        let facts = read(root.path(), &root.path().join("host"), &[10349, 10350]).unwrap();
        assert_eq!(facts.cni_files, ["05-cilium.conf", "10-flannel.conflist"]);
        assert_eq!((facts.kernel.as_str(), facts.openvswitch), ("6.1.0", Module::Loadable));
        assert_eq!(facts.taken_ports, [10350]);
    }
}
