//! Networks of clusters by their first address: whose an address is, and what overlaps, is found without looking at all.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Bound::{Excluded, Included};

use ipnet::IpNet;

use crate::ids::ClusterId;

/// Networks without those that lie within another. No two overlap, since networks of different clusters do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ranges<N>(BTreeMap<IpAddr, (N, ClusterId)>);

impl<N> Default for Ranges<N> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<N: Copy + Into<IpNet>> Ranges<N> {
    /// The cluster has the network, of which no other one has part.
    pub(super) fn insert(&mut self, network: N, cluster: &ClusterId) {
        let cidr = cidr(&network);
        if self.is_within_another(&cidr) {
            return;
        }
        let inner = self.0.range(cidr.network()..=cidr.broadcast());
        for start in inner.map(|(start, _)| *start).collect::<Vec<IpAddr>>() {
            self.0.remove(&start);
        }
        self.0.insert(cidr.network(), (network, cluster.clone()));
    }

    fn is_within_another(&self, network: &IpNet) -> bool {
        self.around(network.network()).is_some_and(|(wider, _)| cidr(wider).contains(network))
    }

    /// The network that contains an address, and whose it is.
    pub(super) fn around(&self, address: IpAddr) -> Option<&(N, ClusterId)> {
        let (_, before) = self.0.range(..=address).next_back()?;
        cidr(&before.0).contains(&address).then_some(before)
    }

    /// Whether a cluster has a network as a whole.
    pub(super) fn is_of(&self, cluster: &ClusterId, network: &IpNet) -> bool {
        let around = self.around(network.network());
        around.is_some_and(|(wider, owner)| owner == cluster && cidr(wider).contains(network))
    }

    /// Networks that have addresses of another, and whose they are.
    pub(super) fn overlapping<'a>(
        &'a self,
        network: &IpNet,
    ) -> impl Iterator<Item = &'a (N, ClusterId)> + use<'a, N> {
        let first = network.network();
        let later = self.0.range((Excluded(first), Included(network.broadcast())));
        self.around(first).into_iter().chain(later.map(|(_, claimed)| claimed))
    }

    /// Those of each cluster.
    pub(super) fn by_cluster(&self) -> BTreeMap<ClusterId, Vec<N>> {
        let mut all = BTreeMap::<ClusterId, Vec<N>>::new();
        for (network, cluster) in self.0.values() {
            all.entry(cluster.clone()).or_default().push(*network);
        }
        all
    }
}

fn cidr<N: Copy + Into<IpNet>>(network: &N) -> IpNet {
    (*network).into()
}
