//! `loadBalancerSourceRanges`: from where the addresses of a Service's load balancer may be reached.
//!
//! As with kube-proxy only addresses of load balancers are concerned, and the Node itself counts by its own addresses,
//! whatever address its packets come from. What cannot be read, what is too much, and a family without any range admit
//! nobody, and users are told.

use std::collections::BTreeMap;
use std::net::IpAddr;

use antrea_pipeline::service::NodeAccess;
use antrea_types::{DualStack, IpFamily};
use ipnet::IpNet;

use crate::problem::Problem;

/// Ranges of a family that count. Each is a flow for each port and address of the load balancer.
pub(crate) const MAX_SOURCE_RANGES: usize = 1000;

/// What is repeated of a text that is no range.
const SHOWN: usize = 64;

/// The ranges of a Service that has some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRanges {
    /// In order, none in another one, at most [`MAX_SOURCE_RANGES`] of a family.
    ranges: Vec<IpNet>,
    node: DualStack<NodeAccess>,
    problems: Vec<Problem>,
}

impl SourceRanges {
    /// What the texts say; nothing where there is none, which admits everybody. `node` are the Node's own addresses.
    pub(crate) fn parse(texts: &[String], node: &[IpAddr]) -> Option<Self> {
        if texts.is_empty() {
            return None;
        }
        let (ranges, refused): (Vec<_>, Vec<_>) =
            texts.iter().map(|text| range(text).ok_or(text)).partition(Result::is_ok);
        let refused: Vec<&String> = refused.into_iter().filter_map(Result::err).collect();
        let mut problems: Vec<Problem> = refused
            .first()
            .map(|text| Problem::InvalidSourceRange { text: beginning(text), count: refused.len() })
            .into_iter()
            .collect();
        let ranges: Vec<IpNet> = ranges.into_iter().filter_map(Result::ok).collect();
        // As few as say the same.
        let ranges = bounded(IpNet::aggregate(&ranges), &mut problems);
        let admits = |address: &&IpAddr| ranges.iter().any(|range| range.contains(*address));
        let node: DualStack<IpAddr> = node.iter().filter(admits).copied().collect();
        Some(Self { ranges, node: node.map(|_| NodeAccess::Admitted), problems })
    }

    /// The ranges of a family.
    pub(crate) fn of(&self, family: IpFamily) -> Vec<IpNet> {
        self.ranges.iter().filter(|range| IpFamily::of_net(range) == family).copied().collect()
    }

    /// Whether the Node itself is admitted, from whichever of its addresses its packets come.
    pub(crate) fn node(&self, family: IpFamily) -> NodeAccess {
        self.node.get(family).copied().unwrap_or(NodeAccess::ByAddress)
    }

    /// What users have to be told, where the load balancer has addresses in these families.
    pub(crate) fn problems(&self, families: impl IntoIterator<Item = IpFamily>) -> Vec<Problem> {
        let none = |family: &IpFamily| !self.ranges.iter().any(|range| IpFamily::of_net(range) == *family);
        let none = families.into_iter().filter(none).map(Problem::NoSourceRange);
        self.problems.iter().cloned().chain(none).collect()
    }
}

/// Spaces around it are not looked at by Kubernetes either.
fn range(text: &str) -> Option<IpNet> {
    text.trim().parse::<IpNet>().ok().map(|range| range.trunc())
}

fn beginning(text: &str) -> Box<str> {
    text.chars().take(SHOWN).collect::<String>().into()
}

/// In order, and no more of a family than count.
fn bounded(ranges: Vec<IpNet>, problems: &mut Vec<Problem>) -> Vec<IpNet> {
    let mut of_family: BTreeMap<IpFamily, Vec<IpNet>> = BTreeMap::new();
    for range in ranges {
        of_family.entry(IpFamily::of_net(&range)).or_default().push(range);
    }
    for (family, ranges) in &mut of_family {
        ranges.sort_unstable();
        if ranges.len() > MAX_SOURCE_RANGES {
            problems.push(Problem::TooManySourceRanges { family: *family, count: ranges.len() });
            ranges.truncate(MAX_SOURCE_RANGES);
        }
    }
    of_family.into_values().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranges, whether a Node with 172.18.0.1 and fd00:18::1 is admitted, and what users are told.
    fn read(texts: &[&str]) -> String {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let node = ["172.18.0.1", "fd00:18::1"].map(|address| address.parse().unwrap());
        let Some(ranges) = SourceRanges::parse(&texts, &node) else { return "all".to_owned() };
        let node = IpFamily::ALL.iter().filter(|family| ranges.node(**family) == NodeAccess::Admitted);
        let mut words: Vec<String> = ranges.ranges.iter().map(ToString::to_string).collect();
        words.extend(node.map(|family| format!("the Node by {family}")));
        let told = ranges.problems([]);
        words.extend(told.iter().map(|problem| format!("{}: {problem}", problem.reason())));
        words.join(", ")
    }

    #[test]
    fn a_service_without_ranges_is_open_to_all() {
        assert_eq!(read(&[]), "all");
    }

    #[test]
    fn ranges_are_as_few_as_say_the_same() {
        let texts = [" 10.1.2.3/8 ", "10.9.0.0/16", "192.0.2.128/25", "192.0.2.0/25", "fd00::1/16"];
        assert_eq!(read(&texts), "10.0.0.0/8, 192.0.2.0/24, fd00::/16, the Node by IPv6");
    }

    #[test]
    fn the_node_is_admitted_by_its_own_addresses() {
        assert_eq!(read(&["172.18.0.0/16"]), "172.18.0.0/16, the Node by IPv4");
        assert_eq!(read(&["0.0.0.0/0", "::/0"]), "0.0.0.0/0, ::/0, the Node by IPv4, the Node by IPv6");
    }

    #[test]
    fn what_is_no_range_admits_nobody_and_users_are_told() {
        let long = "9".repeat(1000);
        insta::assert_snapshot!(read(&["10.0.0.1", "192.0.2.0/24", "10.0.0.0/33"]), @r#"192.0.2.0/24, SourceRangeRefused: 2 of loadBalancerSourceRanges admit nobody, because they are no networks, such as "10.0.0.1""#);
        assert!(read(&[&long]).len() < 200);
        assert!(SourceRanges::parse(&[String::new()], &[]).unwrap().of(IpFamily::V4).is_empty());
    }

    #[test]
    fn more_ranges_than_count_admit_nobody() {
        // Every second one, so that no two adjoin.
        let text = |number: u32| format!("10.{}.{}.0/24", number / 128, number % 128 * 2);
        let texts: Vec<String> = (0..=1000).map(text).collect();
        let ranges = SourceRanges::parse(&texts, &[]).unwrap();
        assert_eq!(ranges.of(IpFamily::V4).len(), 1000);
        let told: Vec<String> = ranges.problems([IpFamily::V6]).iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(told.join("\n"), @"
        of 1001 networks of IPv4 in loadBalancerSourceRanges only the first 1000 by address admit anybody
        loadBalancerSourceRanges has no network of IPv6: nobody reaches the load balancer's addresses of that family
        ");
    }
}
