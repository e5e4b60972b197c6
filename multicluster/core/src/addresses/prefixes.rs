//! Networks that may overlap: those around an address are found without looking at all.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

/// Networks, and what is to be known of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prefixes<T> {
    by_network: BTreeMap<IpNet, Vec<T>>,
    lengths: BTreeSet<u8>,
}

impl<T> Default for Prefixes<T> {
    fn default() -> Self {
        Self { by_network: BTreeMap::new(), lengths: BTreeSet::new() }
    }
}

impl<T> Prefixes<T> {
    pub(super) fn insert(&mut self, network: IpNet, known: T) {
        self.lengths.insert(network.prefix_len());
        self.by_network.entry(network.trunc()).or_default().push(known);
    }

    /// What is known of the networks that contain an address, the widest first.
    pub(super) fn around(&self, address: IpAddr) -> impl Iterator<Item = &T> {
        // One of the other family has no network that is so long.
        let networks = self.lengths.iter().filter_map(move |length| IpNet::new(address, *length).ok());
        networks.filter_map(move |network| self.by_network.get(&network.trunc())).flatten()
    }
}
