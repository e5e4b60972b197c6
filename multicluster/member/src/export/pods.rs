//! Which Pods of this cluster others get.

use antrea_mc_core::service_export::PodsAtHome;
use ipnet::IpNet;

/// Where it says which networks Pods are exported in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodNetworks {
    /// The configuration names them (`podCIDRs`), or none.
    Named,
    /// Nodes do (`podCIDRs: auto`).
    OfNodes,
}

/// The networks that Pods are exported in, as far as the leader has heard of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportedPods {
    /// The leader takes Pods in these.
    pub networks: Vec<IpNet>,
    /// Why it takes none in others, where that is so.
    pub at_home: Option<PodsAtHome>,
}
