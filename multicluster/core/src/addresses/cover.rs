//! Networks that lie within others, and since when they are known, without comparing each with each: what a member claims may
//! be nested in any way, and what was written down of it within that.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;

use crate::looks::look;

/// Networks without those that lie within another.
#[derive(Clone, Debug, Default)]
pub(super) struct Cover(BTreeMap<IpAddr, IpNet>);

impl Cover {
    /// These networks without those that lie within another.
    pub(super) fn of<'a>(networks: impl IntoIterator<Item = &'a IpNet>) -> Self {
        let mut cover = Self::default();
        for network in networks {
            cover.insert(*network);
        }
        cover
    }

    /// Takes in a network. Whether it is news: it lies within none that is there.
    pub(super) fn insert(&mut self, network: IpNet) -> bool {
        if self.has(&network) {
            return false;
        }
        let inner = self.0.range(network.network()..=network.broadcast());
        for start in inner.map(|(start, _)| *start).collect::<Vec<IpAddr>>() {
            look();
            self.0.remove(&start);
        }
        self.0.insert(network.network(), network);
        true
    }

    /// Whether a network lies within one of them.
    pub(super) fn has(&self, network: &IpNet) -> bool {
        look();
        let before = self.0.range(..=network.network()).next_back();
        before.is_some_and(|(_, wider)| wider.contains(network))
    }
}

/// Things with networks, without those whose network lies within that of another; in the order of the networks.
pub(super) fn outermost<T>(mut all: Vec<T>, cidr: impl Fn(&T) -> IpNet) -> Vec<T> {
    all.sort_by_key(&cidr);
    let mut cover = Cover::default();
    all.retain(|one| cover.insert(cidr(one)));
    all
}

/// Since when each of these networks, or one around it, is written down; and the same of what is written down itself. No
/// network has bits behind its prefix.
pub fn since_when(
    networks: impl IntoIterator<Item = IpNet>,
    record: &BTreeMap<IpNet, Timestamp>,
) -> BTreeMap<IpNet, Timestamp> {
    let all: BTreeSet<IpNet> = networks.into_iter().chain(record.keys().copied()).collect();
    let mut since_when = BTreeMap::new();
    // A network comes behind those around it, and before everything that lies outside.
    let mut around: Vec<(IpNet, Option<Timestamp>)> = Vec::new();
    for network in all {
        look();
        while around.last().is_some_and(|(wider, _)| !wider.contains(&network)) {
            look();
            around.pop();
        }
        let outer = around.last().and_then(|(_, since)| *since);
        let first = record.get(&network).copied().into_iter().chain(outer).min();
        since_when.extend(first.map(|since| (network, since)));
        around.push((network, first));
    }
    since_when
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(text: &str) -> Vec<IpNet> {
        text.split_whitespace().map(|network| network.parse().unwrap()).collect()
    }

    #[test]
    fn what_lies_within_another_network_is_covered_by_that() {
        let cover = Cover::of(&networks("10.0.0.0/9 10.0.0.0/8 10.5.0.0/16 fd00::/64 192.168.0.0/24"));
        for covered in networks("10.0.0.0/8 10.200.0.0/16 fd00::1/128 192.168.0.7/32") {
            assert!(cover.has(&covered), "{covered}");
        }
        for other in networks("0.0.0.0/0 11.0.0.0/8 fd00::/63 192.168.1.0/24 ::/0") {
            assert!(!cover.has(&other), "{other}");
        }
        let outer = outermost(networks("10.1.0.0/16 10.0.0.0/8 9.0.0.0/8 10.0.0.0/8"), |network| *network);
        assert_eq!(outer, networks("9.0.0.0/8 10.0.0.0/8"));
    }

    #[test]
    fn a_network_is_known_since_the_first_around_it_was_written_down() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let record = [("10.0.0.0/8", 5), ("10.1.0.0/16", 3), ("10.1.2.0/24", 7), ("fd00::/64", 1)];
        let record = record.map(|(network, second)| (network.parse().unwrap(), at(second)));
        let asked = networks("10.1.2.0/25 10.2.0.0/16 9.0.0.0/8 10.0.0.0/7 fd00::/120");
        let since = since_when(asked, &BTreeMap::from(record));
        let text: Vec<String> =
            since.iter().map(|(network, since)| format!("{network} {}", since.as_second())).collect();
        assert_eq!(
            text.join(", "),
            "10.0.0.0/8 5, 10.1.0.0/16 3, 10.1.2.0/24 3, 10.1.2.0/25 3, 10.2.0.0/16 5, fd00::/64 1, fd00::/120 1"
        );
    }
}
