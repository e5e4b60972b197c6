//! Who has which addresses: the first claim holds, a later one that overlaps is refused.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use antrea_shared_api::addresses::unusable_networks;
use ipnet::Ipv4Net;

use crate::read::ipv4_network;

/// Who has addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claimant {
    /// Nobody may have them.
    Nobody,
    /// This cluster.
    OwnCluster,
    /// The other cluster with this ID.
    OtherCluster(String),
}

/// Networks, and addresses as networks of one, by their first addresses. No two of them overlap, so that a claim is compared with
/// two of them at most, however many there are.
pub(crate) struct Claims {
    networks: BTreeMap<Ipv4Addr, (Ipv4Net, Claimant)>,
}

impl Claims {
    /// With what this cluster has.
    pub(crate) fn new(own: impl IntoIterator<Item = Ipv4Net>) -> Self {
        let mut claims = Self { networks: BTreeMap::new() };
        let unusable = unusable_networks().filter_map(ipv4_network);
        unusable.for_each(|network| claims.unite(network, Claimant::Nobody));
        own.into_iter().for_each(|network| claims.unite(network, Claimant::OwnCluster));
        claims
    }

    /// Gives `network` to `claimant`, or returns the claim that is in the way; of several the one with the lowest addresses.
    pub(crate) fn claim(&mut self, network: Ipv4Net, claimant: Claimant) -> Result<(), (Ipv4Net, Claimant)> {
        match self.in_the_way(network) {
            Some(earlier) => Err(earlier.clone()),
            None => {
                self.networks.insert(network.network(), (network, claimant));
                Ok(())
            }
        }
    }

    /// Adds a network that may overlap with others, as those of one cluster may. Of two that do the wider one stays.
    fn unite(&mut self, network: Ipv4Net, claimant: Claimant) {
        while let Some((other, _)) = self.in_the_way(network) {
            let other = *other;
            if other.contains(&network) {
                return;
            }
            self.networks.remove(&other.network());
        }
        self.networks.insert(network.network(), (network, claimant));
    }

    fn in_the_way(&self, network: Ipv4Net) -> Option<&(Ipv4Net, Claimant)> {
        let (first, last) = (network.network(), network.broadcast());
        // Whatever contains the network begins where it does or before, and nothing else begins in between.
        let around = self.networks.range(..=first).next_back();
        let inside = self.networks.range(first..=last).next();
        let mut neighbours = around.into_iter().chain(inside).map(|(_, claim)| claim);
        neighbours.find(|(claimed, _)| overlap(*claimed, network))
    }
}

/// Two networks overlap only if one contains the other.
fn overlap(one: Ipv4Net, other: Ipv4Net) -> bool {
    #[cfg(test)]
    tests::COMPARISONS.set(tests::COMPARISONS.get() + 1);
    one.contains(&other) || other.contains(&one)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        pub(super) static COMPARISONS: Cell<usize> = const { Cell::new(0) };
    }

    #[track_caller]
    fn check(network: &str, taken: &str) {
        let mut claims = Claims::new(["10.96.0.0/12".parse().unwrap(), "172.18.0.1/32".parse().unwrap()]);
        let claim = claims.claim(network.parse().unwrap(), Claimant::OtherCluster("b".to_owned()));
        let text = match claim {
            Ok(()) => "free".to_owned(),
            Err((network, claimant)) => format!("{claimant:?} {network}"),
        };
        assert_eq!(text, taken);
    }

    #[test]
    fn a_network_beside_all_others_is_free() {
        check("10.112.0.0/16", "free");
        check("172.18.0.2/32", "free");
    }

    #[test]
    fn a_network_inside_or_around_one_that_is_claimed_is_not() {
        check("10.96.1.0/24", "OwnCluster 10.96.0.0/12");
        check("10.0.0.0/8", "OwnCluster 10.96.0.0/12");
        check("172.18.0.0/16", "OwnCluster 172.18.0.1/32");
        check("172.18.0.1/32", "OwnCluster 172.18.0.1/32");
    }

    #[test]
    fn nobody_gets_reserved_addresses() {
        check("0.0.0.0/0", "Nobody 0.0.0.0/8");
        check("127.0.0.1/32", "Nobody 127.0.0.0/8");
        check("169.254.0.252/30", "Nobody 169.254.0.0/16");
        check("255.255.255.255/32", "Nobody 240.0.0.0/4");
    }

    #[test]
    fn what_the_leader_gives_no_cluster_agents_give_none() {
        for network in unusable_networks().filter_map(ipv4_network) {
            let supernet = network.supernet().unwrap();
            let ends = [network.network(), network.broadcast()].map(Ipv4Net::from);
            for claimed in ends.into_iter().chain([network, supernet]) {
                let claim = Claims::new([]).claim(claimed, Claimant::OtherCluster("b".to_owned()));
                assert_eq!(claim.map_err(|(_, claimant)| claimant), Err(Claimant::Nobody), "{claimed}");
            }
        }
    }

    #[test]
    fn networks_of_this_cluster_may_overlap_and_the_wider_one_is_named() {
        let check = |own: [&str; 3]| {
            let mut claims = Claims::new(own.map(|text| text.parse().unwrap()));
            let claim =
                claims.claim("172.18.0.9/32".parse().unwrap(), Claimant::OtherCluster("b".to_owned()));
            assert_eq!(claim, Err(("172.18.0.0/24".parse().unwrap(), Claimant::OwnCluster)));
        };
        check(["172.18.0.1/32", "172.18.0.7/32", "172.18.0.0/24"]);
        check(["172.18.0.0/24", "172.18.0.1/32", "172.18.0.7/32"]);
    }

    /// A network of 256 addresses, counted from 100.64.0.0.
    fn numbered(number: u32) -> Ipv4Net {
        Ipv4Net::new(Ipv4Addr::from(0x6440_0000 + number * 256), 24).unwrap()
    }

    #[test]
    fn claims_are_found_without_looking_at_all() {
        const NODES: u32 = 1000;
        const NETWORKS: u32 = 500 * 64;
        let own = (0..NODES).flat_map(|node| [numbered(node), Ipv4Addr::from(0x0a00_0000 + node).into()]);
        let mut claims = Claims::new(own);
        let of_other = |number: u32| Claimant::OtherCluster(format!("c{}", number / 64));
        for number in NODES..NODES + NETWORKS {
            assert_eq!(claims.claim(numbered(number), of_other(number)), Ok(()));
            assert_eq!(
                claims.claim(numbered(number), of_other(0)),
                Err((numbered(number), of_other(number)))
            );
        }
        let claimed = usize::try_from(2 * NODES + 2 * NETWORKS).unwrap() + unusable_networks().count();
        assert!(COMPARISONS.get() <= 2 * claimed, "{} comparisons", COMPARISONS.get());
    }
}
