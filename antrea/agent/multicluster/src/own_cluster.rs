//! This Node and its cluster.

use std::net::IpAddr;

use antrea_shared_api::multicluster::v1alpha1::TunnelInfo;
use antrea_types::NodeName;
use ipnet::IpNet;

/// Whether Pods reach Pods of other clusters, beside Services (`multicluster.enablePodToPodConnectivity`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodToPod {
    /// They reach Services alone.
    Off,
    /// They reach both.
    On,
}

/// This Node, and what must not be taken for another cluster's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCluster {
    /// The Node.
    pub node: NodeName,
    /// The networks of the cluster's Pods and, as far as they are known, Services. That of a Gateway's `serviceCIDR` is added
    /// to them.
    pub networks: Vec<IpNet>,
    /// The addresses of its Nodes.
    pub node_addresses: Vec<IpAddr>,
    /// Whether networks of other clusters' Pods are of interest.
    pub pod_to_pod: PodToPod,
    /// The tunnel of this Node, and of a Gateway on it.
    pub tunnel: TunnelInfo,
}
