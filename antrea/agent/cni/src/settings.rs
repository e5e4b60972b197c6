//! What the CNI server is told once, at start.

use std::time::Duration;

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
    /// How long ADD waits for the Pod network to be ready.
    pub ready_timeout: Duration,
}

/// The time that upstream waits: less than the kubelet's two minutes, so that the user reads the reason.
pub const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// Whether Pods can be attached yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodNetwork {
    /// The agent is starting: the pipeline, or what it waits for, is not installed.
    Starting,
    /// Pods can be attached.
    Ready,
}
