//! A Node: network, mount, UTS and PID namespaces with containerd and a kubelet of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::command::{Run as _, spawn_detached};
use crate::control_plane;
use crate::image_store;
use crate::names::{LabName, NodeId, Place};
use crate::node_config;
use crate::node_init::{self, Paths};
use crate::pki::{Authority, Subject, write_secret};
use crate::plan::{ClusterPlan, NodePlan};
use crate::processes::{self, Process};
use crate::programs::Programs;
use crate::state;
use crate::wait;
use antrea_preflight::cgroups::Cgroups;

/// Debian's folder of CNI plugins.
pub const DEBIAN_CNI: &str = "/usr/lib/cni";

/// Starts a Node and does not wait for it. `images` is what its containerd begins with.
///
/// # Errors
/// When a file cannot be written or the first process does not start.
pub fn start(
    programs: &Programs,
    authority: &Authority,
    images: &Path,
    lab: &LabName,
    cluster: &ClusterPlan,
    node: &NodePlan,
) -> Result<()> {
    let folder = state::node_folder(lab, node.id);
    for (own, _) in node_init::MOUNTS {
        let path = folder.join(own);
        fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
    }
    image_store::clone_into(images, &folder.join("containerd"))?;
    // containerd itself brings up a Pod's loopback with it; everything else is the product's to install.
    install_plugins(&folder, &["loopback"])?;
    write_configuration(authority, lab, cluster, node, &folder)?;
    boot(programs, lab, cluster, node)
}

/// Starts the first process of a Node that has its files, and does not wait for it.
///
/// # Errors
/// When its script cannot be written or it does not start.
pub fn boot(programs: &Programs, lab: &LabName, cluster: &ClusterPlan, node: &NodePlan) -> Result<()> {
    let folder = state::node_folder(lab, node.id);
    let paths = Paths {
        folder: &folder,
        kubelet: &programs.path("kubelet")?,
        kube_proxy: &programs.path("kube-proxy")?,
        proxy_kubeconfig: &state::cluster_folder(lab, cluster.id).join("proxy.kubeconfig"),
        cgroups: &cgroups()?,
    };
    let init = folder.join("init.sh");
    write_secret(&init, &node_init::script(lab, cluster, node, &paths))?;
    let mut command = Command::new("ip");
    command
        .args(["netns", "exec", &lab.namespace(Place::Node(node.id))])
        .args(["unshare", "--mount", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child", "bash"])
        .arg(&init);
    spawn_detached(lab, &command, &folder.join("init.log"))
}

/// Copies plugins from Debian's package to a Node.
///
/// # Errors
/// When one is missing or cannot be written.
pub fn install_plugins(node_folder: &Path, plugins: &[&str]) -> Result<()> {
    for plugin in plugins {
        let from = Path::new(DEBIAN_CNI).join(plugin);
        let to = node_folder.join("cni-bin").join(plugin);
        fs::copy(&from, &to)
            .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    }
    Ok(())
}

fn write_configuration(
    authority: &Authority,
    lab: &LabName,
    cluster: &ClusterPlan,
    node: &NodePlan,
    folder: &Path,
) -> Result<()> {
    let user = format!("system:node:{}", node.id);
    let addresses = node.node_ips.iter().map(ToString::to_string);
    let alternative_names = addresses.chain([node.id.to_string()]).collect();
    let subject = Subject { common_name: &user, organization: Some("system:nodes"), alternative_names };
    let identity = authority.issue(&node.id.to_string(), &subject)?;
    control_plane::write_kubeconfig(
        cluster,
        authority,
        &user,
        &identity,
        &folder.join("kubelet.kubeconfig"),
    )?;
    let files = [
        ("ca.crt", authority.certificate().to_owned()),
        ("kubelet.crt", identity.certificate),
        ("kubelet.key", identity.key),
        ("kubelet.yaml", node_config::kubelet(lab, cluster, node.id, &cgroups()?)),
        ("containerd.toml", node_config::containerd(&lab.cgroup(node.id), &cgroups()?)),
        // Nobody answers there: a Node of the lab has no names to resolve.
        ("resolv.conf", "nameserver 127.0.0.1\n".to_owned()),
    ];
    files.into_iter().try_for_each(|(name, text)| write_secret(&folder.join(name), &text))
}

/// The first process of a Node: process 1 of its PID namespace.
///
/// # Errors
/// When it does not run.
pub fn init_process(lab: &LabName, node: NodeId) -> Result<Process> {
    let here = processes::in_namespace(&lab.namespace(Place::Node(node)))?;
    let keeper = here.iter().find(|process| process.program == "unshare").map(|process| process.pid);
    let init = here.into_iter().find(|process| Some(process.parent) == keeper);
    init.with_context(|| format!("{node} of lab {lab} does not run"))
}

/// A command that runs on a Node as its own programs do: in all of its namespaces.
///
/// # Errors
/// When the Node does not run.
pub fn command_on(lab: &LabName, node: NodeId, program: impl AsRef<std::ffi::OsStr>) -> Result<Command> {
    let init = init_process(lab, node)?;
    let mut command = Command::new("nsenter");
    command
        .arg(format!("--target={}", init.pid))
        .args(["--net", "--mount", "--uts", "--pid", "--"])
        .arg(program);
    Ok(command)
}

/// Waits until a Node's containerd answers.
///
/// # Errors
/// When it does not within half a minute.
pub fn wait_for_containerd(lab: &LabName, node: NodeId) -> Result<()> {
    let what = format!("containerd on {node}");
    wait::until(Duration::from_secs(30), &what, || {
        command_on(lab, node, "ctr")?.args(["version"]).run().map(|()| true)
    })
}

/// Imports image archives (docker-archive or OCI) into a Node.
///
/// # Errors
/// When containerd refuses one.
pub fn import_images(lab: &LabName, node: NodeId, archives: &[PathBuf]) -> Result<()> {
    for archive in archives {
        let archive =
            archive.canonicalize().with_context(|| format!("there is no image {}", archive.display()))?;
        command_on(lab, node, "ctr")?
            .args(["--namespace", "k8s.io", "images", "import"])
            .arg(&archive)
            .run()?;
    }
    Ok(())
}

fn cgroups() -> Result<Cgroups> {
    Ok(Cgroups::of_this_machine()?)
}
