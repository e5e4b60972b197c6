//! The Gateways of this cluster on other Nodes, and those that were some until lately. A cluster that has not heard of the next
//! Gateway yet sends to the former one, whose Node forwards what comes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// How long a Node may forward for other clusters after its Gateway has gone. They hear of the next one within seconds, unless
/// the leader is away.
const KEPT: Duration = Duration::from_secs(3600);

/// Who sends for other clusters, by the names of Gateways, which are those of their Nodes. Each with when it was there last.
#[derive(Debug, Default)]
pub struct OwnGateways {
    seen: BTreeMap<String, Instant>,
}

impl OwnGateways {
    /// The addresses that Gateways send from: of those that are `present` the `internalIP`, and of these and those that were
    /// present until lately all addresses that `peers`, the other Nodes, send from.
    pub fn update(
        &mut self,
        present: &BTreeMap<String, BTreeSet<Ipv4Addr>>,
        peers: &BTreeMap<String, BTreeSet<Ipv4Addr>>,
        now: Instant,
    ) -> BTreeMap<String, BTreeSet<Ipv4Addr>> {
        self.seen.extend(present.keys().map(|name| (name.clone(), now)));
        self.seen.retain(|name, seen| {
            let is_there = present.contains_key(name) || peers.contains_key(name);
            is_there && now.saturating_duration_since(*seen) < KEPT
        });
        let addresses = |name: &String| {
            let known = [peers.get(name), present.get(name)];
            known.into_iter().flatten().flatten().copied().collect()
        };
        self.seen.keys().map(|name| (name.clone(), addresses(name))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(text: &str) -> BTreeSet<Ipv4Addr> {
        text.split(',').map(|address| address.parse().unwrap()).collect()
    }

    fn named(text: &str) -> BTreeMap<String, BTreeSet<Ipv4Addr>> {
        let entries = text.split_whitespace().map(|entry| entry.split_once('=').unwrap());
        entries.map(|(name, list)| (name.to_owned(), addresses(list))).collect()
    }

    /// Updates after so many seconds.
    #[track_caller]
    fn check(gateways: &mut OwnGateways, begin: Instant, step: (u64, &str, &str), expected: &str) {
        let (seconds, present, peers) = step;
        let now = begin + Duration::from_secs(seconds);
        let updated = gateways.update(&named(present), &named(peers), now);
        assert_eq!(updated, named(expected), "after {seconds} s");
    }

    #[test]
    fn a_gateway_that_has_gone_may_send_on_for_a_while() {
        let (mut gateways, begin) = (OwnGateways::default(), Instant::now());
        let peers = "a=172.18.0.1 b=172.18.0.2";
        let mut check = |seconds, present, expected| {
            check(&mut gateways, begin, (seconds, present, peers), expected);
        };
        check(0, "a=172.18.0.1 b=172.18.0.2", "a=172.18.0.1 b=172.18.0.2");
        check(1, "b=172.18.0.2", "a=172.18.0.1 b=172.18.0.2");
        check(3599, "b=172.18.0.2", "a=172.18.0.1 b=172.18.0.2");
        check(3600, "b=172.18.0.2", "b=172.18.0.2");
    }

    #[test]
    fn a_gateway_whose_node_is_none_any_more_may_not() {
        let (mut gateways, begin) = (OwnGateways::default(), Instant::now());
        check(&mut gateways, begin, (0, "a=172.18.0.1", "a=172.18.0.1"), "a=172.18.0.1");
        check(&mut gateways, begin, (1, "", "b=172.18.0.1"), "");
    }

    #[test]
    fn a_gateway_sends_from_every_address_of_its_node() {
        let (mut gateways, begin) = (OwnGateways::default(), Instant::now());
        let peers = "a=172.18.0.1,192.0.2.1 b=172.18.0.2";
        check(&mut gateways, begin, (0, "a=203.0.113.1", peers), "a=172.18.0.1,192.0.2.1,203.0.113.1");
        check(&mut gateways, begin, (1, "", peers), "a=172.18.0.1,192.0.2.1");
        check(&mut gateways, begin, (2, "", "a=172.18.0.9"), "a=172.18.0.9");
    }
}
