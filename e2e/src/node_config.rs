//! Configuration files of a Node's containerd and kubelet.

use crate::names::{LabName, NodeId};
use crate::plan::{ClusterPlan, NodePlan};
use antrea_preflight::cgroups::Cgroups;

/// The image that holds a Pod's namespaces.
pub const PAUSE_IMAGE: &str = "registry.k8s.io/pause:3.10.2";

/// `containerd.toml`: Debian's containerd 1.6 on a machine that may lack AppArmor and `CAP_SYS_RESOURCE`.
pub fn containerd(cgroup: &str, cgroups: &Cgroups) -> String {
    let own_cgroup = cgroups.containerd_setting(cgroup);
    format!(
        r#"version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]

[grpc]
address = "/run/containerd/containerd.sock"

{own_cgroup}
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE_IMAGE}"
# Only CAP_SYS_RESOURCE may lower the score of a process.
restrict_oom_score_adj = true
disable_apparmor = true

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/opt/cni/bin"
conf_dir = "/etc/cni/net.d"
"#
    )
}

/// `kubelet.yaml` (KubeletConfiguration v1beta1). Relative paths are relative to the file.
pub fn kubelet(lab: &LabName, cluster: &ClusterPlan, node: NodeId, cgroups: &Cgroups) -> String {
    let dns: Vec<String> = cluster.dns_addresses().iter().map(|address| format!("\"{address}\"")).collect();
    format!(
        r#"apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
{cgroup_setting}cgroupDriver: cgroupfs
cgroupRoot: /{cgroup}
cgroupsPerQOS: true
enforceNodeAllocatable: []
oomScoreAdj: 0
failSwapOn: false
localStorageCapacityIsolation: false
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
volumePluginDir: /var/lib/kubelet/volumeplugins
authentication:
  anonymous: {{enabled: false}}
  webhook: {{enabled: true}}
  x509: {{clientCAFile: ca.crt}}
authorization: {{mode: Webhook}}
tlsCertFile: kubelet.crt
tlsPrivateKeyFile: kubelet.key
# The disk and the memory are the machine's, not the Node's.
evictionHard: {{memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%, imagefs.inodesFree: 1%}}
imageGCHighThresholdPercent: 100
clusterDNS: [{dns}]
clusterDomain: cluster.local
makeIPTablesUtilChains: false
resolvConf: /etc/resolv.conf
maxPods: 110
syncFrequency: 10s
nodeStatusUpdateFrequency: 4s
# By default a container that ends again and again is started again after 10 s, then 20 s, up to 5 min.
crashLoopBackOff: {{maxContainerRestartPeriod: 1s}}
"#,
        cgroup_setting = cgroups.kubelet_setting(),
        cgroup = lab.cgroup(node),
        dns = dns.join(", "),
    )
}

/// The value of the kubelet's `--node-ip`: one address of each family.
pub fn node_ip_flag(node: &NodePlan) -> String {
    node.node_ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
