//! Which networks admins have bound to which clusters.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::prefixes::Prefixes;
use crate::ids::ClusterId;

/// The networks that admins have bound to clusters, which need not be members yet.
pub(crate) struct BoundNetworks<'a>(Prefixes<(IpNet, &'a ClusterId)>);

impl<'a> BoundNetworks<'a> {
    pub(crate) fn of(bound: &'a BTreeMap<ClusterId, Vec<IpNet>>) -> Self {
        let mut all = Prefixes::default();
        for (cluster, networks) in bound {
            networks.iter().for_each(|network| all.insert(*network, (*network, cluster)));
        }
        Self(all)
    }

    /// One that is bound to another cluster and overlaps this network, and that cluster.
    pub(crate) fn of_another(&self, cluster: &ClusterId, network: &IpNet) -> Option<(IpNet, &'a ClusterId)> {
        self.0.overlapping(network).find(|(_, owner)| *owner != cluster).copied()
    }
}
