//! What Services ask of the kernel and do not get, and who is told of it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::IpAddr;

use antrea_hostplan::{ClusterIpNetworks, Obstacle};
use ipnet::IpNet;
use tracing::{info, warn};

/// More of a kind than these are not logged one by one.
const LOGGED: usize = 16;

/// What gets nothing, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// External IPs that are served to Pods only.
    pub(super) external_ips: BTreeMap<IpAddr, Obstacle>,
    /// ServiceCIDRs without a route; ClusterIPs of theirs have routes of their own.
    pub(super) service_cidrs: BTreeMap<IpNet, Obstacle>,
    /// ClusterIPs that are served to Pods only.
    pub(super) cluster_ips: BTreeMap<IpAddr, Obstacle>,
}

impl LeftOut {
    pub(super) fn of(external_ips: BTreeMap<IpAddr, Obstacle>, networks: &ClusterIpNetworks) -> Self {
        Self { external_ips, service_cidrs: networks.refused.clone(), cluster_ips: networks.left_out.clone() }
    }

    /// Tells of what is not among what was told `before`, and of what is gone.
    pub(super) fn report(&self, before: &Self) {
        report("external IP", "served to Pods only", &self.external_ips, &before.external_ips);
        let apart = "without a route: ClusterIPs in it have routes of their own, as far as they can";
        report("ServiceCIDR", apart, &self.service_cidrs, &before.service_cidrs);
        report("ClusterIP", "served to Pods only", &self.cluster_ips, &before.cluster_ips);
    }
}

fn report<K: Ord + Display>(
    kind: &str,
    outcome: &str,
    now: &BTreeMap<K, Obstacle>,
    before: &BTreeMap<K, Obstacle>,
) {
    let new: Vec<_> = now.iter().filter(|(key, obstacle)| before.get(key) != Some(obstacle)).collect();
    for (address, obstacle) in new.iter().take(LOGGED) {
        warn!(kind, %address, %obstacle, outcome, "The kernel does not hand the bridge all that Services ask for");
    }
    if let Some(others) = new.len().checked_sub(LOGGED).filter(|others| *others > 0) {
        warn!(kind, others, outcome, "The kernel does not hand the bridge more of them");
    }
    let gone = before.keys().filter(|key| !now.contains_key(key)).count();
    if gone > 0 {
        info!(kind, gone, "Nothing is in the way of Services any longer");
    }
}
