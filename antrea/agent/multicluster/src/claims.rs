//! Who has which addresses: the first claim holds, a later one that overlaps is refused.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

/// Addresses that no cluster has (RFC 6890): this host, loopback, link-local (Antrea's virtual addresses among them),
/// multicast and above.
const RESERVED: [Ipv4Net; 4] = [
    Ipv4Net::new_assert(Ipv4Addr::new(0, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(224, 0, 0, 0), 3),
];

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

/// Networks, and addresses as networks of one, in the order in which they were claimed.
pub(crate) struct Claims {
    networks: Vec<(Ipv4Net, Claimant)>,
}

impl Claims {
    /// With what this cluster has.
    pub(crate) fn new(own: impl IntoIterator<Item = Ipv4Net>) -> Self {
        let reserved = RESERVED.map(|network| (network, Claimant::Nobody));
        let own = own.into_iter().map(|network| (network, Claimant::OwnCluster));
        Self { networks: reserved.into_iter().chain(own).collect() }
    }

    /// Gives `network` to `claimant`, or returns the claim that is in the way.
    pub(crate) fn claim(&mut self, network: Ipv4Net, claimant: Claimant) -> Result<(), (Ipv4Net, Claimant)> {
        // Two networks overlap only if one contains the other.
        let overlaps =
            |claimed: &Ipv4Net| claimed.contains(&network.network()) || network.contains(&claimed.network());
        match self.networks.iter().find(|(claimed, _)| overlaps(claimed)) {
            Some(earlier) => Err(earlier.clone()),
            None => {
                self.networks.push((network, claimant));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        check("255.255.255.255/32", "Nobody 224.0.0.0/3");
    }
}
