//! Networks that may overlap: those around an address, and those that overlap another, are found without looking at all.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use crate::looks::look;

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

    /// What is known of the networks that overlap another: of those that contain it, the widest first, and then of those
    /// within it.
    pub(super) fn overlapping<'a>(&'a self, network: &IpNet) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let network = network.trunc();
        let wider = self.lengths.range(..network.prefix_len());
        let around = wider.filter_map(move |length| {
            look();
            let around = IpNet::new(network.addr(), *length).ok()?;
            self.by_network.get(&around.trunc())
        });
        let within = self.by_network.range(network..=IpNet::from(network.broadcast()));
        around.chain(within.map(|(_, known)| known)).flatten().inspect(|_| look())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(network: &str, expected: &str) {
        let mut all = Prefixes::default();
        for known in [
            "10.0.0.0/8",
            "10.1.0.0/16",
            "10.1.2.0/24",
            "10.1.2.3/32",
            "10.2.0.0/16",
            "11.0.0.0/8",
            "fd00::/8",
            "fd00:1::/32",
        ] {
            all.insert(known.parse().unwrap(), known);
        }
        let found: Vec<&str> = all.overlapping(&network.parse().unwrap()).copied().collect();
        assert_eq!(found.join(" "), expected, "{network}");
    }

    #[test]
    fn what_overlaps_a_network_is_around_it_or_within_it() {
        check("10.1.0.0/16", "10.0.0.0/8 10.1.0.0/16 10.1.2.0/24 10.1.2.3/32");
        check("10.1.2.3/32", "10.0.0.0/8 10.1.0.0/16 10.1.2.0/24 10.1.2.3/32");
        check("10.0.0.0/7", "10.0.0.0/8 10.1.0.0/16 10.1.2.0/24 10.1.2.3/32 10.2.0.0/16 11.0.0.0/8");
        check("10.3.4.5/16", "10.0.0.0/8");
        check("12.0.0.0/6", "");
        check("::/0", "fd00::/8 fd00:1::/32");
        check("fd00:1:2::/48", "fd00::/8 fd00:1::/32");
    }
}
