//! The first process of a Node: a shell script that gives it directories, mounts and cgroups of its own, then starts
//! containerd, the kubelet and, where wanted, kube-proxy.

use std::fmt::Write as _;
use std::path::Path;

use crate::names::LabName;
use crate::node_config::node_ip_flag;
use crate::plan::{ClusterPlan, NodePlan, ServiceProxy};
use antrea_preflight::cgroups::Cgroups;

/// What of the host's file system a Node has for itself, and the folder that stands there instead. Everything under
/// /run is the Node's anyway.
pub const MOUNTS: [(&str, &str); 10] = [
    ("containerd", "/var/lib/containerd"),
    ("kubelet", "/var/lib/kubelet"),
    ("cni-lib", "/var/lib/cni"),
    ("antrea-lib", "/var/lib/antrea"),
    ("cni-conf", "/etc/cni/net.d"),
    ("cni-bin", "/opt/cni/bin"),
    ("log-pods", "/var/log/pods"),
    ("log-containers", "/var/log/containers"),
    ("log-antrea", "/var/log/antrea"),
    ("log-openvswitch", "/var/log/openvswitch"),
];

/// Where programs and files are.
pub struct Paths<'a> {
    /// The Node's folder.
    pub folder: &'a Path,
    /// The multi-call binary's links.
    pub kubelet: &'a Path,
    /// The same for kube-proxy.
    pub kube_proxy: &'a Path,
    /// kube-proxy's kubeconfig.
    pub proxy_kubeconfig: &'a Path,
    /// The control groups of the machine.
    pub cgroups: &'a Cgroups,
}

/// The script, run by bash in new mount, UTS and PID namespaces and the Node's network namespace.
pub fn script(lab: &LabName, cluster: &ClusterPlan, node: &NodePlan, paths: &Paths<'_>) -> String {
    let mut text = String::from("#!/bin/bash\nset -euo pipefail\nmount --make-rprivate /\n");
    mounts(&mut text, paths.folder);
    // `ip netns exec` has mounted a /sys that shows the Node's links.
    text += &paths.cgroups.script(&lab.cgroup(node.id));
    // After all mounts: a Pod may mount with propagation only below a shared mount.
    text += "mount --make-rshared /\n";
    let _ = writeln!(text, "hostname {}", node.id);
    services(&mut text, cluster, node, paths);
    text
}

fn mounts(text: &mut String, folder: &Path) {
    *text += "mount -t tmpfs -o mode=755 tmpfs /run\nmkdir -p /run/containerd /run/lock /run/netns\n";
    for (own, place) in MOUNTS {
        let _ = writeln!(text, "mkdir -p {place} && mount --bind {}/{own} {place}", folder.display());
    }
    let _ = writeln!(text, "mount --bind {}/resolv.conf /etc/resolv.conf", folder.display());
}

fn services(text: &mut String, cluster: &ClusterPlan, node: &NodePlan, paths: &Paths<'_>) {
    let folder = paths.folder.display();
    let _ = writeln!(text, "containerd -c {folder}/containerd.toml > {folder}/containerd.log 2>&1 &");
    if cluster.service_proxy == ServiceProxy::KubeProxy {
        let pods: Vec<String> = cluster.pod_cidrs.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "{} --kubeconfig={} --hostname-override={} --proxy-mode=iptables --cluster-cidr={} --conntrack-max-per-core=0 \
             --conntrack-tcp-timeout-established=0s --conntrack-tcp-timeout-close-wait=0s --v=1 \
             > {folder}/kube-proxy.log 2>&1 &",
            paths.kube_proxy.display(),
            paths.proxy_kubeconfig.display(),
            node.id,
            pods.join(","),
        );
    }
    // A kubelet ends when containerd's socket is there and its CRI service is not yet; systemd would start it again.
    let _ = writeln!(
        text,
        "for try in {{1..300}}; do [ -S /run/containerd/containerd.sock ] && break; sleep 0.1; done\n\
         until {} --config={folder}/kubelet.yaml --kubeconfig={folder}/kubelet.kubeconfig --hostname-override={} \
         --node-ip={}; do sleep 0.2; done > {folder}/kubelet.log 2>&1 &\n\
         # Orphans of containers become children of this shell, which reaps them.\n\
         wait",
        paths.kubelet.display(),
        node.id,
        node_ip_flag(node),
    );
}
