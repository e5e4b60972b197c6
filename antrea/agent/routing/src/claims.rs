//! Which Pod network belongs to which Node: the first claim holds, a later one that overlaps is refused.

use std::collections::BTreeMap;
use std::net::IpAddr;

use antrea_types::NodeName;
use ipnet::IpNet;

/// Networks that do not overlap, by their first address.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    networks: BTreeMap<IpAddr, (IpNet, NodeName)>,
}

impl Claims {
    /// Gives `network` to `node`, or returns the claim that is in the way.
    pub(crate) fn claim(&mut self, network: IpNet, node: &NodeName) -> Result<(), (IpNet, NodeName)> {
        if let Some(earlier) = self.overlapping(network) {
            return Err(earlier.clone());
        }
        self.networks.insert(network.network(), (network, node.clone()));
        Ok(())
    }

    /// Two networks overlap only if one contains the other. What is claimed does not overlap, so of the networks that
    /// might contain this one only the last that begins before it can.
    fn overlapping(&self, network: IpNet) -> Option<&(IpNet, NodeName)> {
        let first = network.network();
        let containing =
            self.networks.range(..=first).next_back().filter(|(_, (claimed, _))| claimed.contains(&first));
        let contained = || self.networks.range(first..=network.broadcast()).next();
        containing.or_else(contained).map(|(_, claim)| claim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(claimed: &[&str], network: &str, taken: Option<&str>) {
        let mut claims = Claims::default();
        let node = "node-1".parse().unwrap();
        for claim in claimed {
            claims.claim(claim.parse().unwrap(), &node).unwrap();
        }
        let result = claims.claim(network.parse().unwrap(), &node);
        assert_eq!(result.err().map(|(claim, _)| claim), taken.map(|text| text.parse().unwrap()));
    }

    #[test]
    fn networks_side_by_side_do_not_overlap() {
        check(&["10.10.0.0/24", "10.10.2.0/24"], "10.10.1.0/24", None);
        check(&["10.10.0.0/24"], "fd00:10::/64", None);
        check(&["255.255.255.0/24"], "::/64", None);
    }

    #[test]
    fn the_same_network_is_taken() {
        check(&["10.10.0.0/24", "10.10.1.0/24"], "10.10.1.0/24", Some("10.10.1.0/24"));
        check(&["fd00:10::/64"], "fd00:10::/64", Some("fd00:10::/64"));
    }

    #[test]
    fn a_network_inside_or_around_another_is_taken() {
        check(&["10.10.0.0/16"], "10.10.7.0/24", Some("10.10.0.0/16"));
        check(&["10.9.0.0/24", "10.10.7.0/24"], "10.10.0.0/16", Some("10.10.7.0/24"));
    }
}
