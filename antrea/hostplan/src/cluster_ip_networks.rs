//! Which networks of ClusterIPs the kernel hands to the bridge.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use antrea_types::IpFamily;
use ipnet::IpNet;

use crate::{Obstacle, Protected};

/// The most networks of a family for ClusterIPs that are in no ServiceCIDR.
const MAX_NETWORKS: usize = 8;

/// The fewest bits that a network of ClusterIPs has.
///
/// IPv4: 8, the width of the widest private network (RFC 1918). IPv6: 64, since the API server takes no wider ServiceCIDR,
/// and wider ones are sites rather than networks (RFC 4291).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShortestPrefix(pub u8);

/// What becomes of ClusterIPs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterIpNetworks {
    /// These get routes.
    pub networks: BTreeSet<IpNet>,
    /// ServiceCIDRs that get none, and why.
    pub refused: BTreeMap<IpNet, Obstacle>,
    /// ClusterIPs that are in no network with a route, and why.
    pub left_out: BTreeMap<IpAddr, Obstacle>,
}

impl ShortestPrefix {
    /// That of a family.
    pub const fn of(family: IpFamily) -> Self {
        match family {
            IpFamily::V4 => Self(8),
            IpFamily::V6 => Self(64),
        }
    }
}

impl ClusterIpNetworks {
    /// A route for each ServiceCIDR that nothing speaks against. The ClusterIPs that are in none of those are covered by
    /// at most [`MAX_NETWORKS`] networks of a family, as narrow as that number allows.
    pub fn of(
        service_cidrs: &BTreeSet<IpNet>,
        cluster_ips: &BTreeSet<IpAddr>,
        protected: &Protected,
    ) -> Self {
        let mut all = Self::default();
        for cidr in service_cidrs {
            if let Some(obstacle) = protected.obstacle(cidr) {
                all.refused.insert(*cidr, obstacle);
            } else {
                all.networks.insert(*cidr);
            }
        }
        let is_outside = |ip: &&IpAddr| !all.networks.iter().any(|net| net.contains(*ip));
        let outside: Vec<IpAddr> = cluster_ips.iter().filter(is_outside).copied().collect();
        // Addresses are ordered, IPv4 first.
        let (v4, v6) = outside.split_at(outside.partition_point(IpAddr::is_ipv4));
        for cover in [v4, v6].into_iter().flat_map(|ips| covers(ips, protected)) {
            if let Some(obstacle) = cover.obstacle {
                all.left_out.extend(cover.ips.iter().map(|ip| (*ip, obstacle)));
            } else {
                all.networks.insert(cover.net);
            }
        }
        all
    }
}

/// Addresses that follow one another, and the narrowest network that holds them.
#[derive(Clone, Copy, Debug)]
struct Cover<'a> {
    ips: &'a [IpAddr],
    net: IpNet,
    obstacle: Option<Obstacle>,
}

impl<'a> Cover<'a> {
    /// None where there are no addresses.
    fn of(ips: &'a [IpAddr], protected: &Protected) -> Option<Self> {
        let net = common_network(*ips.first()?, *ips.last()?);
        Some(Self { ips, net, obstacle: protected.obstacle(&net) })
    }

    /// What is divided first: what cannot stay as it is, then what is widest. A single address cannot be divided.
    fn urgency(&self) -> Option<(bool, u8)> {
        (self.ips.len() > 1).then(|| (self.obstacle.is_none(), self.net.prefix_len()))
    }

    /// Both halves of the network, narrowed to what is in them.
    fn halves(&self, protected: &Protected) -> [Option<Self>; 2] {
        let upper = self.net.subnets(self.net.prefix_len() + 1).ok().and_then(|mut halves| halves.nth(1));
        let middle = self.ips.partition_point(|ip| upper.is_none_or(|upper| *ip < upper.addr()));
        let (lower, upper) = self.ips.split_at(middle);
        [Self::of(lower, protected), Self::of(upper, protected)]
    }
}

/// Covers ordered addresses of one family. The same addresses always get the same networks, so that nothing depends on
/// the order in which Services came.
fn covers<'a>(ips: &'a [IpAddr], protected: &Protected) -> Vec<Cover<'a>> {
    let mut covers: Vec<Cover<'a>> = Cover::of(ips, protected).into_iter().collect();
    while covers.len() < MAX_NETWORKS {
        let urgent = covers.iter().enumerate().filter_map(|(index, cover)| Some((cover.urgency()?, index)));
        let Some((_, index)) = urgent.min() else { break };
        let halves = covers[index].halves(protected);
        covers.splice(index..=index, halves.into_iter().flatten());
    }
    covers
}

/// The narrowest network that holds two addresses of one family.
fn common_network(first: IpAddr, last: IpAddr) -> IpNet {
    let length = match (first, last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => (first.to_bits() ^ last.to_bits()).leading_zeros(),
        (IpAddr::V6(first), IpAddr::V6(last)) => (first.to_bits() ^ last.to_bits()).leading_zeros(),
        _ => 0,
    };
    let host = IpNet::from(first);
    let length = u8::try_from(length).unwrap_or(host.max_prefix_len());
    IpNet::new(first, length).map_or(host, |net| net.trunc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set<T: std::str::FromStr<Err: std::fmt::Debug> + Ord>(texts: &str) -> BTreeSet<T> {
        texts.split_whitespace().map(|text| text.parse().unwrap()).collect()
    }

    fn found(cidrs: &str, ips: &str, nodes: &str) -> ClusterIpNetworks {
        let protected = Protected { nodes: set(nodes), ..Protected::default() };
        ClusterIpNetworks::of(&set(cidrs), &set(ips), &protected)
    }

    #[track_caller]
    fn check(cidrs: &str, ips: &str, expect: &str) {
        let found = found(cidrs, ips, "172.18.0.12");
        assert_eq!(found.networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "), expect);
        assert_eq!(found.left_out, BTreeMap::new());
    }

    #[test]
    fn each_service_cidr_gets_a_route_and_no_more_than_that() {
        check("10.96.0.0/12 192.168.100.0/24", "10.96.0.1 192.168.100.7", "10.96.0.0/12 192.168.100.0/24");
        check("10.96.0.0/12 10.200.0.0/16", "10.96.0.1 10.200.0.7", "10.96.0.0/12 10.200.0.0/16");
        check("10.96.0.0/12 fd00:96::/112", "", "10.96.0.0/12 fd00:96::/112");
    }

    #[test]
    fn cluster_ips_in_no_service_cidr_are_covered_narrowly() {
        check("", "10.96.0.1 192.168.100.7", "10.96.0.1/32 192.168.100.7/32");
        check("10.96.0.0/12", "10.96.0.1 10.200.0.7", "10.96.0.0/12 10.200.0.7/32");
        check(
            "",
            "1.1.1.1 200.1.1.1 fd00:97::1 fd00:97::ff",
            "1.1.1.1/32 200.1.1.1/32 fd00:97::1/128 fd00:97::ff/128",
        );
    }

    #[test]
    fn at_most_eight_networks_of_a_family_cover_any_number_of_cluster_ips() {
        let ips: Vec<String> =
            (0..4096).map(|i| format!("10.{}.{}.{}", 96 + i % 16, i / 16, i % 250)).collect();
        let others: Vec<String> = (0..200).map(|i| format!("192.168.100.{i}")).collect();
        let all = format!("{} {} fd00::1 fd01::1", ips.join(" "), others.join(" "));
        check(
            "",
            &all,
            "10.96.0.0/15 10.98.0.0/15 10.100.0.0/15 10.102.0.0/15 10.104.0.0/15 10.106.0.0/15 10.108.0.0/14 \
             192.168.100.0/24 fd00::1/128 fd01::1/128",
        );
    }

    #[test]
    fn networks_of_cluster_ips_shrink_when_services_go() {
        let many: Vec<String> = (1..=20).map(|i| format!("10.96.0.{i}")).collect();
        assert_eq!(found("", &many.join(" "), "").networks.len(), MAX_NETWORKS);
        check("", "10.96.0.1", "10.96.0.1/32");
        check("", "", "");
    }

    #[test]
    fn a_refused_service_cidr_leaves_its_cluster_ips_routes_around_what_is_not_its() {
        let found = found("172.16.0.0/12", "172.17.0.1 172.18.0.1 172.18.0.11 172.31.0.1", "172.18.0.12");
        let node: IpAddr = "172.18.0.12".parse().unwrap();
        assert_eq!(found.refused, [("172.16.0.0/12".parse().unwrap(), Obstacle::Node(node))].into());
        assert_eq!(found.networks, set("172.17.0.1/32 172.18.0.1/32 172.18.0.11/32 172.31.0.1/32"));
    }

    #[test]
    fn what_holds_an_address_of_a_node_is_divided_first() {
        // Eight networks of equal width would leave half of them for the eighth around the Node.
        let ips: Vec<String> = (0..=255).map(|i| format!("10.96.0.{i}")).collect();
        let found = found("", &ips.join(" "), "10.96.0.0");
        let expect =
            "10.96.0.2/31 10.96.0.4/30 10.96.0.8/29 10.96.0.16/28 10.96.0.32/27 10.96.0.64/26 10.96.0.128/25";
        assert_eq!(found.networks, set(expect));
        assert_eq!(
            found.left_out.keys().map(ToString::to_string).collect::<Vec<_>>(),
            ["10.96.0.0", "10.96.0.1"]
        );
    }

    #[test]
    fn the_address_of_a_node_is_no_cluster_ip_for_the_host() {
        let found = found("", "172.18.0.12", "172.18.0.12");
        assert_eq!(found.networks, BTreeSet::new());
        assert_eq!(found.left_out.len(), 1);
    }
}
