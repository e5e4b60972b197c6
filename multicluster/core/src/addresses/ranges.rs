//! Networks of clusters by their first address: whose an address is, and what overlaps, is found without looking at all.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Bound::{Excluded, Included};

use ipnet::IpNet;

use super::ClaimedNetwork;
use crate::ids::ClusterId;

/// Networks without those that lie within another. No two overlap, since networks of different clusters do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(BTreeMap<IpAddr, (ClaimedNetwork, ClusterId)>);

impl Ranges {
    /// The cluster has the network, of which no other one has part.
    pub(super) fn insert(&mut self, network: ClaimedNetwork, cluster: &ClusterId) {
        let cidr = network.cidr;
        if self.around(cidr.network()).is_some_and(|(wider, _)| wider.cidr.contains(&cidr)) {
            return;
        }
        let inner = self.0.range(cidr.network()..=cidr.broadcast());
        for start in inner.map(|(start, _)| *start).collect::<Vec<IpAddr>>() {
            self.0.remove(&start);
        }
        self.0.insert(cidr.network(), (network, cluster.clone()));
    }

    /// The network that contains an address, and whose it is.
    pub(super) fn around(&self, address: IpAddr) -> Option<&(ClaimedNetwork, ClusterId)> {
        let (_, before) = self.0.range(..=address).next_back()?;
        before.0.cidr.contains(&address).then_some(before)
    }

    /// Whether a cluster has a network as a whole.
    pub(super) fn is_of(&self, cluster: &ClusterId, network: &IpNet) -> bool {
        let around = self.around(network.network());
        around.is_some_and(|(wider, owner)| owner == cluster && wider.cidr.contains(network))
    }

    /// Networks that have addresses of another, and whose they are.
    pub(super) fn overlapping<'a>(
        &'a self,
        network: &IpNet,
    ) -> impl Iterator<Item = &'a (ClaimedNetwork, ClusterId)> + use<'a> {
        let first = network.network();
        let later = self.0.range((Excluded(first), Included(network.broadcast())));
        self.around(first).into_iter().chain(later.map(|(_, claimed)| claimed))
    }
}
