//! Networks of which none is in another.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

/// The networks, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NetworkSet(BTreeSet<Ipv4Net>);

impl NetworkSet {
    /// These, without those that are in another of them. None of them is joined with others.
    pub(super) fn of(networks: &BTreeSet<Ipv4Net>) -> Self {
        let mut all = Self::default();
        // What is around a network comes before it.
        for network in networks {
            if !all.has(*network) {
                all.0.insert(*network);
            }
        }
        all
    }

    /// These, of which two are one wherever they make up one.
    pub(super) fn joined(networks: impl Iterator<Item = Ipv4Net>) -> Self {
        let mut all = Self::default();
        for network in networks {
            all.join(network, usize::MAX);
        }
        all
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Ipv4Net> {
        self.0.iter()
    }

    /// Whether a network is in one of them.
    pub(super) fn has(&self, network: Ipv4Net) -> bool {
        let last = self.0.range(..=Ipv4Net::from(network.network())).next_back();
        last.is_some_and(|last| last.contains(&network)) || self.0.contains(&network)
    }

    /// Joins a network with the others, unless there are more than `most` then. Whether it is in one of them now.
    pub(super) fn join(&mut self, network: Ipv4Net, most: usize) -> bool {
        if self.has(network) {
            return true;
        }
        let before = self.0.len();
        let within = self.0.range(network..=Ipv4Net::from(network.broadcast())).copied();
        for smaller in within.collect::<Vec<_>>() {
            self.0.remove(&smaller);
        }
        let mut joined = network;
        while let Some((other_half, whole)) = other_half(joined) {
            if !self.0.remove(&other_half) {
                break;
            }
            joined = whole;
        }
        self.0.insert(joined);
        let has_room = self.0.len() <= most.max(before);
        if !has_room {
            // There is one more, so it has joined none.
            self.0.remove(&joined);
        }
        has_room
    }
}

/// The network beside one, and the one that both make up; nothing for all addresses.
fn other_half(network: Ipv4Net) -> Option<(Ipv4Net, Ipv4Net)> {
    let whole = network.supernet()?;
    let bit = 1_u32 << (32 - network.prefix_len());
    let address = Ipv4Addr::from_bits(network.network().to_bits() ^ bit);
    Some((Ipv4Net::new(address, network.prefix_len()).ok()?, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(texts: &str) -> BTreeSet<Ipv4Net> {
        texts.split(' ').map(|text| text.parse().unwrap()).collect()
    }

    fn text(networks: &NetworkSet) -> String {
        networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_in_another_network_is_left_out() {
        let networks = NetworkSet::of(&set("10.0.0.0/24 10.0.0.0/32 10.0.0.9/32 10.0.1.0/32"));
        assert_eq!(text(&networks), "10.0.0.0/24 10.0.1.0/32");
        for (network, expected) in [
            ("10.0.0.255/32", true),
            ("10.0.0.0/24", true),
            ("10.0.0.128/25", true),
            ("10.0.1.0/32", true),
            ("10.0.1.1/32", false),
            ("10.0.0.0/23", false),
            ("9.0.0.0/32", false),
        ] {
            assert_eq!(networks.has(network.parse().unwrap()), expected, "{network}");
        }
    }

    #[test]
    fn two_halves_are_joined_and_what_has_no_room_is_left_out() {
        let halves = set("10.0.0.0/32 10.0.0.2/32 10.0.0.3/32 10.0.0.5/32");
        assert_eq!(text(&NetworkSet::joined(halves.into_iter())), "10.0.0.0/32 10.0.0.2/31 10.0.0.5/32");
        let mut networks = NetworkSet::default();
        for (network, has_room, expected) in [
            ("10.0.0.0/32", true, "10.0.0.0/32"),
            ("10.0.0.2/32", true, "10.0.0.0/32 10.0.0.2/32"),
            ("10.0.0.4/32", false, "10.0.0.0/32 10.0.0.2/32"),
            ("10.0.0.3/32", true, "10.0.0.0/32 10.0.0.2/31"),
            ("10.0.0.1/32", true, "10.0.0.0/30"),
            ("10.0.0.4/32", true, "10.0.0.0/30 10.0.0.4/32"),
            ("10.0.0.0/29", true, "10.0.0.0/29"),
            ("10.0.0.5/32", true, "10.0.0.0/29"),
            ("0.0.0.0/0", true, "0.0.0.0/0"),
        ] {
            assert_eq!(networks.join(network.parse().unwrap(), 2), has_room, "{network}");
            assert_eq!(text(&networks), expected, "{network}");
        }
    }
}
