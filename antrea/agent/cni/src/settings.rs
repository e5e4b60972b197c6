//! What the CNI server is told once, at start.

use antrea_host::TxChecksumOffload;
use antrea_host::pod_interface::HostIngress;

/// How Pods' interfaces are made on this Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The bridge that Pods are attached to.
    pub bridge: String,
    /// The MTU of Pods' interfaces, unless the network configuration says another.
    pub mtu: u32,
    /// What stands before CNI_NETNS where the agent sees it: `hostProcPathPrefix`, `/host` in a container.
    pub host_proc_path_prefix: String,
    /// Whether Pods leave checksums of what they send to their interface: `disableTXChecksumOffload`.
    pub tx_checksum_offload: TxChecksumOffload,
    /// Whether the Node's own network stack sees what Pods send: it must not with datapath type `netdev`, where
    /// ovs-vswitchd gets only a copy.
    pub host_ingress: HostIngress,
}
